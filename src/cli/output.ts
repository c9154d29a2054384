import { counted } from "../capture/reports/report.js"
import { visible } from "../capture/visible.js"
import { fileError } from "./errors.js"

/** Prints a line on standard error, without control characters that affect a terminal. */
export function printErrorLine(text: string): void {
  console.error(visible(text))
}

/** Says how many parts of a message are not printed. */
export const moreText = (more: { parts: number; plainBytes: number }): string =>
  `and ${counted(more.parts, "more part")}, ${counted(more.plainBytes, "byte")}`

/** Characters that are buffered before they are written. */
const BUFFER_CHARS = 1 << 16

/** The end of an output whose reader has closed it, as `head` does. */
class OutputClosed extends Error {}

/** Standard output, written as fast as it is read. */
export class Output {
  readonly #stream = process.stdout
  readonly #beforeWrite: () => void
  #text = ""

  constructor(beforeWrite: () => void = () => {}) {
    this.#beforeWrite = beforeWrite
    // Without a listener an error would end the process. The write's callback gets the error too.
    this.#stream.on("error", () => {})
  }

  /** Adds text. If it returns a promise, await it before the next call. */
  add(text: string): Promise<void> | undefined {
    this.#text += text
    return this.#text.length > BUFFER_CHARS ? this.flush() : undefined
  }

  async flush(): Promise<void> {
    const text = this.#text
    this.#text = ""
    if (text === "") return
    this.#beforeWrite()
    await this.write(text)
  }

  /** Writes text or bytes at once. */
  write(content: string | Uint8Array): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#stream.write(content, (error) => (error ? reject(outputError(error)) : resolve()))
    })
  }
}

/**
 * Prints the result of a command on standard output, without control characters.
 *
 * @throws InputError if it cannot be written, unless the reader has closed it.
 */
export function printResult(...lines: readonly string[]): Promise<void> {
  return printBytes(lines.map((line) => `${visible(line)}\n`).join(""))
}

/** Writes bytes, or text as it is, to standard output. Throws as `printResult` does. */
export const printBytes = (content: string | Uint8Array): Promise<void> =>
  untilClosed(new Output().write(content))

/** Waits for what is printed. If the reader of standard output has closed it, that is the end. */
export async function untilClosed(printed: Promise<void>): Promise<void> {
  try {
    await printed
  } catch (error) {
    if (!(error instanceof OutputClosed)) throw error
  }
}

function outputError(error: NodeJS.ErrnoException): Error {
  return error.code === "EPIPE" ? new OutputClosed() : fileError("standard output", error)
}

/** Encodes bytes in base64. */
export const base64 = ({ buffer, byteOffset, byteLength }: Uint8Array): string =>
  Buffer.from(buffer, byteOffset, byteLength).toString("base64")
