/** The dialog in which bytes in hexadecimal are decoded. */
import type { BytesKind } from "../capture/decode-bytes.js"
import { byId, html, setText } from "./dom.js"
import { count, partSizes, plural } from "./format.js"
import type { Pasted, PastedPart } from "./protocol.js"
import { inOneLine } from "./readable.js"

type Decode = (text: string) => Promise<Pasted>

export function listenForPastes(decode: Decode): void {
  const dialog = byId<HTMLDialogElement>("paste")
  const text = byId<HTMLTextAreaElement>("paste-text")
  const result = byId("paste-result")
  for (const button of document.querySelectorAll(".open-paste"))
    button.addEventListener("click", () => dialog.showModal())
  byId("paste-close").addEventListener("click", () => dialog.close())
  byId("paste-form").addEventListener("submit", async (event) => {
    event.preventDefault()
    setText(byId("paste-mistake"), "")
    result.replaceChildren()
    try {
      const pasted = await decode(text.value)
      result.replaceChildren(...shown(pasted))
    } catch (error) {
      setText(byId("paste-mistake"), (error as Error).message)
    }
  })
}

const KINDS: Readonly<Record<BytesKind, string>> = {
  part: "one part, without the head of its frame",
  greeting: "the beginning of a connection",
  frames: "frames of ZMTP",
}

function shown({ as, bytes, pieces, more }: Pasted): HTMLElement[] {
  const all = pieces.flatMap(({ title, parts, more, error }, i) => {
    if (error !== undefined) return [html("p", { class: "problem" }, inOneLine(error))]
    if (parts.length === 0)
      return [html("section", { class: "pasted" }, html("h3", {}, inOneLine(title)))]
    return [
      ...parts.map((part, j) => partOf(part, `${i + 1}. ${title}, part ${count(j + 1)}`)),
      ...(more ? [note(`The other ${plural(more, "part")} of it are not shown.`)] : []),
    ]
  })
  return [
    html("p", {}, `${plural(bytes, "byte")}, taken for ${KINDS[as]}`),
    ...all,
    ...(more ? [note("The rest is not shown.")] : []),
  ]
}

const note = (text: string) => html("p", { class: "note" }, text)

function partOf(part: PastedPart, name: string) {
  const { kind, error, text, more } = part
  return html(
    "section",
    { class: "pasted" },
    html("h3", {}, `${name} `, html("span", { class: "tag" }, kind), ` ${partSizes(part)}`),
    error === undefined ? undefined : html("p", { class: "problem" }, inOneLine(error)),
    text === undefined ? undefined : html("pre", { class: "text", tabindex: 0 }, text || "(empty)"),
    more ? note("The rest is not shown.") : undefined,
  )
}
