import { createReadStream } from "node:fs"
import { pipeline } from "node:stream"
import { createGunzip } from "node:zlib"
import { DamagedInput, fileError } from "./errors.js"

/** How a file is read. */
export interface ReadOptions {
  /** Ends the reading, as the end of the file would. */
  signal?: AbortSignal
  /** Told of the size of each chunk of the file, as it is before it is unpacked. */
  onRead?: (bytes: number) => void
}

const GZIP_MAGIC = Buffer.from([0x1f, 0x8b])
/** The buffer is the smallest, since an error drops what it holds. */
const GUNZIP = { chunkSize: 1 << 16, readableHighWaterMark: 1 }

/** The name of a file in messages. */
export const nameOf = (file: string): string => (file === "-" ? "standard input" : file)

/**
 * Reads a file, or standard input for "-", in chunks; what gzip packed is unpacked as it is read.
 * Damage is thrown behind what was unpacked before it, but for the last chunk.
 */
export async function* readChunks(
  file: string,
  { signal, onRead }: ReadOptions = {},
): AsyncGenerator<Buffer> {
  const stream = file === "-" ? process.stdin : createReadStream(file)
  const stop = () => stream.destroy()
  signal?.addEventListener("abort", stop, { once: true })
  try {
    if (!signal?.aborted) yield* unpacked(counted(stream, onRead))
  } catch (error) {
    if (!signal?.aborted) throw readError(nameOf(file), error as NodeJS.ErrnoException)
  } finally {
    signal?.removeEventListener("abort", stop)
  }
}

/** Reads the first bytes of a file, or of standard input for "-". */
export const readStart = (file: string, maxBytes: number): Promise<Buffer> =>
  startOf(readChunks(file), maxBytes)

/** Joins chunks up to a number of bytes, and ends them there. */
export async function startOf(chunks: AsyncIterable<Buffer>, maxBytes: number): Promise<Buffer> {
  const taken: Buffer[] = []
  let bytes = 0
  for await (const chunk of chunks) {
    taken.push(chunk)
    bytes += chunk.length
    if (bytes >= maxBytes) break
  }
  return Buffer.concat(taken).subarray(0, maxBytes)
}

/** Looks at the first bytes, or all if there are fewer; `whole` has them again, and all others. */
export async function peek(
  chunks: AsyncGenerator<Buffer>,
  bytes: number,
): Promise<{ head: Buffer; whole: AsyncGenerator<Buffer> }> {
  let head = Buffer.alloc(0)
  while (head.length < bytes) {
    const { done, value } = await chunks.next()
    if (done) break
    head = Buffer.concat([head, value])
  }
  return { head: head.subarray(0, bytes), whole: chained(head, chunks) }
}

async function* counted(
  chunks: AsyncIterable<Buffer>,
  onRead: ReadOptions["onRead"],
): AsyncGenerator<Buffer> {
  for await (const chunk of chunks) {
    onRead?.(chunk.length)
    yield chunk
  }
}

async function* unpacked(chunks: AsyncGenerator<Buffer>): AsyncGenerator<Buffer> {
  const { head, whole } = await peek(chunks, GZIP_MAGIC.length)
  if (!head.equals(GZIP_MAGIC)) return yield* whole
  const gunzip = createGunzip(GUNZIP)
  pipeline(whole, gunzip, () => {}) // whoever reads from it gets its errors
  yield* gunzip
}

async function* chained(head: Buffer, rest: AsyncGenerator<Buffer>): AsyncGenerator<Buffer> {
  try {
    if (head.length > 0) yield head
    yield* rest
  } finally {
    await rest.return(undefined)
  }
}

function readError(name: string, error: NodeJS.ErrnoException): Error {
  if (error.code === "Z_BUF_ERROR")
    return new DamagedInput(`${name}: the file ends in the middle of what gzip packed`)
  if (error.code?.startsWith("Z_"))
    return new DamagedInput(`${name}: what gzip packed is damaged: ${error.message}`)
  return fileError(name, error)
}
