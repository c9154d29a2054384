import { createReadStream } from "node:fs"
import { fileError } from "./errors.js"

/** A file's bytes as they are read, or standard input's for "-"; they end when `signal` says so. */
export async function* readChunks(file: string, signal?: AbortSignal): AsyncGenerator<Buffer> {
  const stream = file === "-" ? process.stdin : createReadStream(file)
  const stop = () => stream.destroy()
  signal?.addEventListener("abort", stop, { once: true })
  try {
    if (!signal?.aborted) yield* stream
  } catch (error) {
    if (!signal?.aborted) throw fileError(file, error)
  } finally {
    signal?.removeEventListener("abort", stop)
  }
}

/** No more than the first bytes of a file, or of standard input for "-". */
export async function readStart(file: string, maxBytes: number): Promise<Buffer> {
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of readChunks(file)) {
    chunks.push(chunk)
    bytes += chunk.length
    if (bytes >= maxBytes) break
  }
  return Buffer.concat(chunks).subarray(0, maxBytes)
}
