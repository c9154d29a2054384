import { fileError } from "./errors.js"
import { printable } from "./terminal-text.js"

/** Prints a line in which nothing acts on a terminal. */
export function printLine(text: string): void {
  console.log(printable(text))
}

/** The same on standard error. */
export function printErrorLine(text: string): void {
  console.error(printable(text))
}

/** A number of things, in words. */
export function count(number: number, what: string): string {
  return `${number} ${what}${number === 1 ? "" : "s"}`
}

/** More than this is not kept before it is written. */
const BUFFER_CHARS = 1 << 16

/** Who read standard output wants no more, as `head` does: no error, but nothing is left to do. */
export class OutputClosed extends Error {}

/** Standard output, which takes text at the pace of who reads it. */
export class Output {
  readonly #stream: NodeJS.WriteStream
  #text = ""

  constructor(stream: NodeJS.WriteStream) {
    this.#stream = stream
    // What a write comes to is told to its callback as well.
    stream.on("error", () => {})
  }

  /** Await what it returns, if anything, before the next call. */
  add(text: string): Promise<void> | undefined {
    this.#text += text
    return this.#text.length > BUFFER_CHARS ? this.flush() : undefined
  }

  async flush(): Promise<void> {
    const text = this.#text
    this.#text = ""
    if (text === "") return
    await new Promise<void>((resolve, reject) => {
      this.#stream.write(text, (error) => (error ? reject(outputError(error)) : resolve()))
    })
  }
}

function outputError(error: NodeJS.ErrnoException): Error {
  return error.code === "EPIPE" ? new OutputClosed() : fileError("standard output", error)
}
