/** The detail pane: one row with all of its parts, each as text, JSON or bytes. */
import { placeOf } from "../capture/packets/file-place.js"
import { dateTime } from "../capture/times.js"
import { append, html, setText } from "./dom.js"
import { bytes, count, isLarger, partSizes, plural, ratio, seconds } from "./format.js"
import { envelopes, hexDump } from "./hex.js"
import { jsonTokens } from "./json.js"
import type { Bytes, Calls, Details, PartDetails, Row } from "./protocol.js"
import { inOneLine } from "./readable.js"
import { arrows } from "./table.js"

/** Bytes of a part that are shown at first, and that each press of the button adds. */
const WINDOW = 64 << 10

/** The text about a dictionary that is not in the capture. */
const DICTIONARY = {
  given: "loaded, not in the capture: a wrong one makes wrong plaintext",
  missing: "probably needed, not in the capture",
}

export type Look = "auto" | "json" | "text" | "hex"

interface RowContents {
  bytes: (...args: Parameters<Calls["bytes"]>) => Promise<Uint8Array>
  json: (...args: Parameters<Calls["json"]>) => Promise<ReturnType<Calls["json"]>>
  download(part: number, which: Bytes, name: string): void
}

export class DetailPane {
  readonly #title: HTMLElement
  readonly #facts: HTMLElement
  readonly #content: HTMLElement
  readonly #source: RowContents
  #details: Details | undefined
  #look: Look = "auto"
  /** Counts the rows shown, to ignore late answers for another row. */
  #shown = 0

  constructor(title: HTMLElement, facts: HTMLElement, content: HTMLElement, source: RowContents) {
    this.#title = title
    this.#facts = facts
    this.#content = content
    this.#source = source
  }

  show(details: Details, origin: bigint | undefined): void {
    this.#details = details
    setText(this.#title, titleOf(details))
    this.#facts.replaceChildren(...factsOf(details, origin))
    this.#content.scrollTop = 0
    this.#drawParts()
  }

  /** Shows why there are no details. */
  fail(message: string): void {
    this.#details = undefined
    this.#shown++
    setText(this.#title, "No row")
    this.#facts.replaceChildren()
    this.#content.replaceChildren(problem(message))
  }

  look(look: Look): void {
    this.#look = look
    if (this.#details) this.#drawParts()
  }

  #drawParts(): void {
    const shown = ++this.#shown
    const { row, error, parts, command } = this.#details!
    const sections = parts.map((part, i) => this.#section(part, i, shown))
    const nodes = sections.map(({ section }) => section)
    if (command?.detail) nodes.unshift(html("p", { class: "meaning" }, command.detail))
    if (error) nodes.unshift(problem(error.message, error.code))
    if (row.parts > parts.length && parts.length > 0)
      nodes.push(
        html("p", { class: "note" }, `The other ${othersText(row, parts)}, are not shown.`),
      )
    this.#content.replaceChildren(...nodes)
    this.#content.setAttribute("aria-busy", "true")
    void Promise.all(sections.map(({ filled }) => filled)).then(() => {
      if (shown === this.#shown) this.#content.setAttribute("aria-busy", "false")
    })
  }

  #section(part: PartDetails, index: number, shown: number) {
    const body = html("div", { class: "body" })
    const section = html(
      "section",
      { class: "part" },
      html(
        "h3",
        {},
        html("span", { class: "name" }, this.#nameOf(index)),
        part.kind && html("span", { class: "tag" }, part.kind),
        // Bytes that are not a part have their length below.
        html("span", { class: "size" }, part.kind && partSizes(part)),
        this.#download(part, index, "plain"),
        this.#download(part, index, "wire"),
      ),
      part.error && problem(part.error.message, part.error.code),
      body,
    )
    const filled = this.#fill(body, part, index).catch((error: Error) => {
      if (shown === this.#shown) body.append(problem(error.message))
    })
    return { section, filled }
  }

  async #fill(body: HTMLElement, part: PartDetails, index: number): Promise<void> {
    const look = this.#look !== "auto" ? this.#look : part.reads === "bytes" ? "hex" : part.reads
    if (look === "json" && part.plainBytes !== undefined) await this.#fillJson(body, index)
    else if (look === "text" && part.plainBytes !== undefined)
      await this.#fillText(body, index, part.plainBytes)
    else {
      const { plainBytes, kind } = part
      const wireBytes = bytesOnWire(part)
      body.classList.add("beside")
      await Promise.all([
        plainBytes !== undefined && this.#fillHex(body, index, "plain", plainBytes),
        wireBytes !== undefined && this.#fillHex(body, index, "wire", wireBytes, kind),
      ])
    }
  }

  async #fillJson(body: HTMLElement, index: number, characters = WINDOW): Promise<void> {
    let json: ReturnType<Calls["json"]>
    try {
      json = await this.#source.json(index, characters)
    } catch (error) {
      body.append(problem(`It is not shown as JSON: ${(error as Error).message}`))
      return
    }
    const pre = html("pre", { class: "json", tabindex: 0 }, ...coloured(json.text))
    body.replaceChildren(pre)
    if (json.more) body.append(more("Show more", () => this.#fillJson(body, index, characters * 4)))
  }

  async #fillText(body: HTMLElement, index: number, length: number): Promise<void> {
    const decoder = new TextDecoder()
    const pre = html("pre", { class: "text", tabindex: 0 })
    body.append(pre)
    if (length === 0) pre.append(html("i", {}, "empty"))
    await this.#byWindow(body, index, "plain", length, (window) => {
      append(pre, decoder.decode(window, { stream: true }))
    })
  }

  async #fillHex(
    body: HTMLElement,
    index: number,
    which: Bytes,
    length: number,
    kind?: PartDetails["kind"],
  ): Promise<void> {
    const fields = (which === "wire" && kind && envelopes[kind]) || []
    const names = fields.map(({ name }, i) => html("b", { class: `field-${i}` }, name))
    const column = html("div", { class: "column" }, html("h4", {}, this.#headOf(which, length)))
    if (names.length > 0) column.append(html("p", { class: "fields" }, ...names))
    body.append(column)
    await this.#byWindow(column, index, which, length, (window, from) => {
      const lengths = from === 0 ? fields.map(({ bytes }) => bytes) : []
      column.append(hexDump(window, from, lengths))
    })
  }

  #headOf(which: Bytes, length: number): string {
    const kind = this.#details!.row.kind
    if (kind === "command") return `Body, ${bytes(length)}`
    if (kind === "error") return `The file ${placeText(this.#details!.offset ?? 0)} on`
    if (which === "wire")
      return `${this.#details!.arena ? "The whole arena on" : "On"} the wire, ${bytes(length)}`
    return kind === "dictionary" ? `Dictionary, ${bytes(length)}` : `Plain, ${bytes(length)}`
  }

  #nameOf(index: number): string {
    const { row } = this.#details!
    if (row.kind === "command") return "Body"
    if (row.kind === "error") return "Where it broke"
    if (row.kind === "dictionary") return "Dictionary"
    return `Part ${index + 1} of ${count(row.parts)}`
  }

  /** Adds the beginning of a part, and a button for more. */
  async #byWindow(
    body: HTMLElement,
    index: number,
    which: Bytes,
    length: number,
    add: (window: Uint8Array, from: number) => void,
    from = 0,
  ): Promise<void> {
    const to = Math.min(length, from + WINDOW)
    add(await this.#source.bytes(index, which, from, to), from)
    const addMore = () => this.#byWindow(body, index, which, length, add, to)
    if (to < length) body.append(more(`Show more of ${bytes(length)}`, addMore))
  }

  #download(part: PartDetails, index: number, which: Bytes): HTMLElement | undefined {
    const { row } = this.#details!
    const length = which === "plain" ? part.plainBytes : bytesOnWire(part)
    if (length === undefined || row.kind === "error") return undefined
    const named = { dictionary: "dictionary", command: "body" }[row.kind as string]
    const wire = part.arenaBytes === undefined ? "wire" : "arena"
    const what = which === "wire" ? wire : (named ?? which)
    const button = html("button", { type: "button", class: "quiet" }, `Save ${what}`)
    button.addEventListener("click", () =>
      this.#source.download(index, which, `${row.kind}-${row.number}-part-${index + 1}.${what}`),
    )
    return button
  }
}

/** Returns how many bytes the `wire` of a part has: those of its arena, if it is from one. */
const bytesOnWire = ({ wireBytes, arenaBytes }: PartDetails): number | undefined =>
  arenaBytes ?? wireBytes

function othersText({ parts, plainBytes }: Row, shown: readonly PartDetails[]): string {
  const left = shown.reduce((left, part) => left - (part.plainBytes ?? 0), plainBytes)
  return `${plural(parts - shown.length, "part")}, with ${plural(left, "byte")}`
}

function titleOf({ row, command, error }: Details): string {
  const what = command ? inOneLine(command.name) : (error?.code ?? row.kind)
  return `#${count(row.number)} ${what}`
}

function factsOf(details: Details, origin: bigint | undefined): Node[] {
  const { row, connection, offset, arena, parts } = details
  const { time: since } = row
  const time = since === undefined || origin === undefined ? undefined : origin + BigInt(since)
  const [local, utc] = [false, true].map((utc) => dateTime(time, utc))
  const isDecoded = row.kind === "message" && (row.plainBytes > 0 || !row.failed)
  const arenaBytes = parts[0]?.arenaBytes
  const ofArena = arenaBytes === undefined ? "" : ` of the arena's ${bytes(arenaBytes)}`
  const facts: [string, string | undefined][] = [
    ["Packet", row.packet === undefined ? undefined : count(row.packet)],
    ["Time", local && (local === utc ? `${utc} UTC` : `${local} (${utc} UTC)`)],
    ["Since the start", row.time === undefined ? undefined : `${seconds(row.time)} s`],
    [
      "Connection",
      connection &&
        `${connection.id}: ${connection.client} ${row.from ? arrows[row.from] : "–"} ${connection.server}`,
    ],
    ["From", row.from],
    ["Form", row.parts ? row.forms.join(", ") : undefined],
    ["Plain", isDecoded ? bytes(row.plainBytes) : undefined],
    ["Wire", row.parts || row.isEncrypted ? bytes(row.wireBytes) + ofArena : undefined],
    ["Ratio", isDecoded ? ratio(row.plainBytes, row.wireBytes) : undefined],
    ["Dictionary", row.dictionary && DICTIONARY[row.dictionary]],
    ["Arena", arena && `message ${arena.index + 1} of ${arena.messages}`],
    ["In the file", offset === undefined ? undefined : placeText(offset)],
  ]
  return facts.flatMap(([name, value]) => {
    if (value === undefined) return []
    const larger = name === "Ratio" && isLarger(row.plainBytes, row.wireBytes)
    const dd = html("dd", { class: larger && "larger" }, value)
    return [html("div", {}, html("dt", {}, name), dd)]
  })
}

function placeText(place: number): string {
  const { file, offset } = placeOf(place)
  return `from byte ${count(offset)}${file > 0 ? ` of file ${count(file + 1)}` : ""}`
}

function problem(message: string, code?: string): HTMLElement {
  const shown = { class: "problem", role: "alert" }
  return html("p", shown, code && html("code", {}, code), inOneLine(message))
}

function more(text: string, show: () => Promise<void>): HTMLElement {
  const button = html("button", { type: "button", class: "more" }, text)
  button.addEventListener("click", async () => {
    button.disabled = true
    await show()
    button.remove()
  })
  return button
}

/** Returns indented JSON, with colours for names and values. It may be cut off. */
function coloured(text: string): (Node | string)[] {
  const nodes: (Node | string)[] = []
  let end = 0
  const plain = (to: number) => {
    if (to > end) nodes.push(text.slice(end, to))
  }
  for (const { token, start } of jsonTokens(text)) {
    const kind = kindOf(token, text.startsWith(": ", start + token.length))
    if (!kind) continue
    plain(start)
    nodes.push(html("span", { class: kind }, token))
    end = start + token.length
  }
  plain(text.length)
  return nodes
}

function kindOf(token: string, named: boolean): string | undefined {
  if (token.startsWith('"')) return named ? "name" : "string"
  if (/^[-\d]/.test(token)) return "number"
  return /^[a-z]/.test(token) ? "word" : undefined
}
