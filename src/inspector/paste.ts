/** The dialog in which bytes in hexadecimal are decoded. */
import { byId, html, setText } from "./dom.js"
import { count, plural } from "./format.js"
import type { Calls, Pasted, PastedPart } from "./protocol.js"
import { inOneLine } from "./readable.js"

type Decode = (...args: Parameters<Calls["decode"]>) => Promise<Pasted>

export function listenForPastes(decode: Decode): void {
  const dialog = byId<HTMLDialogElement>("paste")
  const text = byId<HTMLTextAreaElement>("paste-text")
  const transport = byId<HTMLSelectElement>("paste-transport")
  const result = byId("paste-result")
  for (const button of document.querySelectorAll(".open-paste"))
    button.addEventListener("click", () => dialog.showModal())
  byId("paste-close").addEventListener("click", () => dialog.close())
  byId("paste-form").addEventListener("submit", async (event) => {
    event.preventDefault()
    setText(byId("paste-mistake"), "")
    result.replaceChildren()
    try {
      const pasted = await decode(text.value, transport.value as "lz4+tcp" | "tcp")
      result.replaceChildren(...shown(pasted))
    } catch (error) {
      setText(byId("paste-mistake"), (error as Error).message)
    }
  })
}

function shown({ as, bytes, messages }: Pasted): HTMLElement[] {
  const what =
    as === "part" ? "one part, without the head of its frame" : plural(messages.length, "message")
  const all = messages.flatMap((parts, i) =>
    parts.map((part, j) => partOf(part, `Message ${count(i + 1)}, part ${count(j + 1)}`)),
  )
  return [html("p", {}, `${plural(bytes, "byte")}: ${what}`), ...all]
}

function partOf({ kind, wireBytes, plainBytes, error, text, more }: PastedPart, name: string) {
  const sizes = [`${plural(wireBytes, "byte")} on the wire`]
  if (plainBytes !== undefined) sizes.unshift(`${plural(plainBytes, "byte")} plain`)
  return html(
    "section",
    { class: "pasted" },
    html("h3", {}, `${name} `, html("span", { class: "tag" }, kind), ` ${sizes.join(", ")}`),
    error === undefined ? undefined : html("p", { class: "problem" }, inOneLine(error)),
    text === undefined ? undefined : html("pre", { class: "text", tabindex: 0 }, text || "(empty)"),
    more ? html("p", { class: "note" }, "The rest is not shown.") : undefined,
  )
}
