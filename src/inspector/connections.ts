/** The list of connections. Choosing one sets the filter. */
import { endText, transportText } from "../capture/summary.js"
import { html } from "./dom.js"
import { bytes, count, isLarger, plural, ratio } from "./format.js"
import type { ShownConnection, ShownSide } from "./protocol.js"
import { inOneLine } from "./readable.js"

export class ConnectionList {
  readonly #list: HTMLElement
  #shown = ""
  #chosen: number | undefined

  /** @param onChoose called with the id of the chosen connection, or undefined for all. */
  constructor(list: HTMLElement, onChoose: (id: number | undefined) => void) {
    this.#list = list
    list.addEventListener("click", (event) => {
      const item = (event.target as Element).closest<HTMLElement>("[data-id]")
      if (!item) return
      const id = Number(item.dataset.id)
      onChoose(id === this.#chosen ? undefined : id)
    })
    list.addEventListener("focusin", ({ target }) => this.#reach(target as HTMLElement))
    list.addEventListener("keydown", (event) => this.#onKey(event))
  }

  /** Moves between connections, of which Tab reaches only one: there may be hundreds. */
  #onKey(event: KeyboardEvent): void {
    const items = [...this.#list.querySelectorAll<HTMLElement>("[data-id]")]
    const at = items.indexOf(event.target as HTMLElement)
    const targets: Record<string, number> = {
      ArrowDown: at + 1,
      ArrowUp: at - 1,
      Home: 0,
      End: items.length - 1,
    }
    const target = targets[event.key]
    if (target === undefined || at < 0) return
    event.preventDefault()
    items[target]?.focus()
  }

  /** Makes an item the one that Tab reaches. */
  #reach(item: HTMLElement | undefined): void {
    for (const other of this.#list.querySelectorAll<HTMLElement>("[data-id]"))
      other.tabIndex = other === item ? 0 : -1
  }

  show(connections: readonly ShownConnection[], total: number, chosen: number | undefined): void {
    // Most reports of the worker change nothing here, and redrawing would lose the focus.
    const shown = JSON.stringify([connections, total, chosen])
    if (shown === this.#shown) return
    this.#shown = shown
    this.#chosen = chosen
    const focused = (document.activeElement as HTMLElement | null)?.dataset.id
    const items = connections.map((connection) => item(connection, connection.id === chosen))
    this.#list.replaceChildren(...items.map((item) => html("li", {}, item)))
    const more = total - connections.length
    const note = `${count(more)} more are not listed; filter for them with connection=NUMBER.`
    if (more > 0) this.#list.append(html("li", { class: "note" }, note))
    const reached = focused ?? String(chosen)
    this.#reach(items.find(({ dataset }) => dataset.id === reached) ?? items[0])
    if (focused) items.find(({ dataset }) => dataset.id === focused)?.focus()
  }
}

function item(connection: ShownConnection, chosen: boolean): HTMLButtonElement {
  const { client, server } = connection.sides
  const plainBytes = client.plainBytes + server.plainBytes
  const wireBytes = client.wireBytes + server.wireBytes
  const types = [client.socketType, server.socketType].map((type) => inOneLine(type ?? "?"))
  const isOpened = connection.transport !== undefined
  const sums =
    client.encrypted && server.encrypted && !isOpened
      ? `${plural(client.encrypted.messages + server.encrypted.messages, "encrypted frame")} · ${bytes(client.encrypted.bytes + server.encrypted.bytes)}`
      : `${plural(client.messages + server.messages, "message")} · ${bytes(plainBytes)} in ${bytes(wireBytes)}`
  const larger = isLarger(plainBytes, wireBytes) && "larger"
  const bar = html("i", { class: larger })
  if (plainBytes > 0) bar.style.width = `${Math.min(100, (100 * wireBytes) / plainBytes)}%`
  return html(
    "button",
    {
      type: "button",
      class: "connection",
      "data-id": connection.id,
      "aria-pressed": chosen,
      title: [handshake("client", client), handshake("server", server)].join("\n"),
    },
    html(
      "span",
      { class: "ends" },
      html("b", {}, String(connection.id)),
      html("span", { class: "end", title: connection.client }, connection.client),
      html("span", { class: "arrow" }, "→"),
      html("span", { class: "end", title: connection.server }, connection.server),
    ),
    html(
      "span",
      { class: "tags" },
      tag(transportText(connection), "transport"),
      tag(`${types[0]} → ${types[1]}`),
      ...[client, server].map(dictionary),
      connection.begun ? undefined : tag("began before the capture"),
      connection.ended ? tag(endText(connection.ended)) : undefined,
      connection.warning ? tag(connection.warning, "error") : undefined,
      connection.errors ? tag(plural(connection.errors, "error"), "error") : undefined,
    ),
    html(
      "span",
      { class: "sums" },
      html("span", { title: sums }, sums),
      html("b", { class: larger }, ratio(plainBytes, wireBytes)),
    ),
    html("i", { class: "share" }, bar),
  )
}

/** The title has what the width of the list may cut. */
const tag = (text: string, kind = "") => html("span", { class: `tag ${kind}`, title: text }, text)

function dictionary({ dictionaryBytes }: ShownSide, i: number): HTMLElement | undefined {
  if (dictionaryBytes === undefined) return undefined
  return tag(`${i === 0 ? "→" : "←"} dictionary ${bytes(dictionaryBytes)}`, "dictionary")
}

function handshake(side: string, { handshake }: ShownSide): string {
  return `${side}: ${inOneLine(handshake ?? "its handshake is not in the capture")}`
}
