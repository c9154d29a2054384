import type { GivenKeys } from "./protocol.js"

/** A key log: text, or one that `zeromq-lz4 live` serves, and that grows. */
export class KeySource {
  #text: string | undefined
  readonly #url: string | undefined
  #bytes = 0

  constructor({ text, url }: GivenKeys) {
    this.#text = text
    this.#url = url
  }

  /** Returns what the log has more than the last time. */
  async next(): Promise<string> {
    if (this.#url !== undefined) return this.#fetch(this.#url)
    const text = this.#text ?? ""
    this.#text = undefined
    return text
  }

  async #fetch(url: string): Promise<string> {
    const response = await fetch(`${url}?from=${this.#bytes}`, { cache: "no-store" })
    if (!response.ok)
      throw new Error(`the key log cannot be read: the answer was ${response.status}`)
    const bytes = new Uint8Array(await response.arrayBuffer())
    this.#bytes += bytes.length
    return new TextDecoder("latin1").decode(bytes)
  }
}
