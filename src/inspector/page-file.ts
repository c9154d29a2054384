/**
 * Files that were chosen in the page. The worker reads them through the page: workers in WebKit cannot
 * read any Blob if the page was opened from disk.
 */
import type { CaptureFile, Range } from "./reading.js"

/** A file as the worker gets it: the port takes ranges, and answers in their order. */
export interface SharedFile {
  name: string
  port: MessagePort
}

/** The first result is the size, the others are bytes. */
type Answer = { result: number | ArrayBuffer } | { error: string }

/** Shares a file with the worker, until that closes the port. */
export function shareFile(file: File): SharedFile {
  const { port1, port2 } = new MessageChannel()
  const plain = unpacked(file)
  let last = answer(async () => (await plain).size)
  port1.onmessage = ({ data: ranges }: MessageEvent<readonly Range[]>) => {
    const before = last
    last = answer(async () => {
      await before
      const pieces = ranges.map(([from, to]) => plain.then((blob) => blob.slice(from, to)))
      return new Blob(await Promise.all(pieces)).arrayBuffer()
    })
  }
  return { name: file.name, port: port2 }

  async function answer(work: () => Promise<number | ArrayBuffer>): Promise<void> {
    try {
      const result = await work()
      port1.postMessage({ result }, typeof result === "number" ? [] : [result])
    } catch (error) {
      port1.postMessage({ error: reasonOf(error as Error) })
    }
  }
}

/** The worker's side of a file. */
export class PageFile implements CaptureFile {
  readonly name: string
  size = 0
  readonly #port: MessagePort
  /** Callbacks of pending reads, the oldest first. */
  readonly #waiting: ((answer: Answer) => void)[] = []
  readonly #size: Promise<Answer>

  constructor({ name, port }: SharedFile) {
    this.name = name
    this.#port = port
    port.onmessage = ({ data }: MessageEvent<Answer>) => this.#waiting.shift()?.(data)
    this.#size = this.#answer()
  }

  async open(): Promise<void> {
    this.size = this.#resultOf(await this.#size) as number
  }

  async read(ranges: readonly Range[]): Promise<Uint8Array> {
    this.#port.postMessage(ranges)
    return new Uint8Array(this.#resultOf(await this.#answer()) as ArrayBuffer)
  }

  close(): void {
    this.#port.close()
    for (const answer of this.#waiting.splice(0)) answer({ error: "another capture was opened" })
  }

  #answer(): Promise<Answer> {
    return new Promise((resolve) => this.#waiting.push(resolve))
  }

  #resultOf(answer: Answer): number | ArrayBuffer {
    if ("error" in answer) throw new Error(`${this.name}: ${answer.error}`)
    return answer.result
  }
}

/** Returns why a file cannot be read, in words that say what to do. */
function reasonOf({ name, message }: Error): string {
  // Chromium, Firefox and WebKit also say so of a file that another program writes meanwhile.
  const hasChanged = name === "NotReadableError" || name === "NotFoundError"
  return hasChanged ? "it is a folder, or has changed since it was opened: open it again" : message
}

/** Returns a file without the compression of gzip, which cannot be read from the middle. */
async function unpacked(file: Blob): Promise<Blob> {
  const [first, second] = new Uint8Array(await file.slice(0, 2).arrayBuffer())
  if (first !== 0x1f || second !== 0x8b) return file
  if (typeof DecompressionStream === "undefined")
    throw new Error(
      "this browser cannot unpack it (Safari before 16.4, for example): gunzip it first",
    )
  const plain = file.stream().pipeThrough(new DecompressionStream("gzip"))
  try {
    return await new Response(plain).blob()
  } catch {
    throw new Error("the gzip data is damaged, cut off, or followed by something else")
  }
}
