import type { GivenKeys } from "./protocol.js"
import { sleep } from "./steps.js"

/** Failures in a row after which the log is given up, and the wait after the first, which doubles. */
const ATTEMPTS = 7
const WAIT_MS = 100

/** A key log: text, or one that `zeromq-lz4 live` serves, and that grows. */
export class KeySource {
  #text: string | undefined
  readonly #url: string | undefined
  #bytes = 0

  constructor({ text, url }: GivenKeys) {
    this.#text = text
    this.#url = url
  }

  /**
   * Returns what the log has more than the last time.
   *
   * @param hasEnded whether the recording has, after which a log that cannot be read has nothing more.
   */
  async next(hasEnded: () => boolean): Promise<string> {
    const text = this.#text ?? ""
    this.#text = undefined
    if (this.#url === undefined) return text
    for (let failures = 1; ; failures++) {
      try {
        return await this.#fetch(this.#url)
      } catch (error) {
        if (hasEnded()) return ""
        if (failures === ATTEMPTS)
          throw new Error(`the key log cannot be read: ${(error as Error).message}`)
        await sleep(WAIT_MS * 2 ** (failures - 1))
      }
    }
  }

  async #fetch(url: string): Promise<string> {
    const response = await fetch(`${url}?from=${this.#bytes}`, { cache: "no-store" })
    if (!response.ok) throw new Error(`the answer was ${response.status}`)
    const bytes = new Uint8Array(await response.arrayBuffer())
    this.#bytes += bytes.length
    return new TextDecoder("latin1").decode(bytes)
  }
}
