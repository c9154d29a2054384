import {
  closeSync,
  constants,
  createReadStream,
  existsSync,
  openSync,
  readdirSync,
  readSync,
  statSync,
} from "node:fs"
import { basename, dirname, join } from "node:path"
import { pipeline, type Readable } from "node:stream"
import { createGunzip } from "node:zlib"
import { DamagedInput, fileError } from "./errors.js"

export interface ReadOptions {
  /** Ends the reading, like the end of the file. */
  signal?: AbortSignal
  /** Called with the size of each chunk of the file, before it is unpacked. */
  onRead?: (bytes: number) => void
}

export const GZIP_MAGIC: Buffer = Buffer.from([0x1f, 0x8b])
/** Small buffers, because an error loses what is in them. */
const GUNZIP = { chunkSize: 1 << 16, readableHighWaterMark: 1 }

/** Returns the name of a file for messages. */
export const nameOf = (file: string): string => (file === "-" ? "standard input" : file)

/**
 * Replaces names with * or ? in their last part by the files that match, in order, for shells that
 * do not. A name that exists, or that no file matches, stays.
 */
export function matchingFiles(names: readonly string[]): string[] {
  return names.flatMap((name) => {
    const pattern = basename(name)
    if (!/[*?]/.test(pattern) || existsSync(name)) return [name]
    const escaped = pattern.replace(/[.+^${}()|[\]\\]/g, "\\$&")
    const matches = new RegExp(`^${escaped.replaceAll("*", ".*").replaceAll("?", ".")}$`, "s")
    const found = namesIn(dirname(name)).filter((file) => matches.test(file))
    // As in a shell, a name that begins with a dot has to be asked for.
    const shown = found.filter((file) => !file.startsWith(".") || pattern.startsWith("."))
    return shown.length > 0 ? shown.sort().map((file) => join(dirname(name), file)) : [name]
  })
}

function namesIn(directory: string): string[] {
  try {
    return readdirSync(directory)
  } catch {
    return []
  }
}

/**
 * Reads a file, or standard input for "-", in chunks, and unpacks gzip. An error is thrown after the
 * bytes that were unpacked before it, except for the last chunk.
 */
export async function* readChunks(
  file: string,
  { signal, onRead }: ReadOptions = {},
): AsyncGenerator<Buffer> {
  let stream: Readable | undefined
  const stop = () => stream?.destroy()
  signal?.addEventListener("abort", stop, { once: true })
  try {
    stream = await opened(file)
    if (!signal?.aborted) yield* unpacked(counted(stream, onRead))
  } catch (error) {
    if (!signal?.aborted) throw readError(nameOf(file), error as NodeJS.ErrnoException)
  } finally {
    signal?.removeEventListener("abort", stop)
    stop()
  }
}

async function opened(file: string): Promise<Readable> {
  if (file === "-") return process.stdin
  if (!statSync(file, { throwIfNoEntry: false })?.isFIFO()) return createReadStream(file)
  // `fs` would open and read a named pipe in a thread that waits for the writer and cannot be stopped.
  const { Socket } = await import("node:net")
  const fd = openSync(file, constants.O_RDONLY | constants.O_NONBLOCK)
  return new Socket({ fd, readable: true, writable: false })
}

/** Reads the first bytes of a file, or of standard input for "-". */
export const readStart = (file: string, maxBytes: number): Promise<Buffer> =>
  startOf(readChunks(file), maxBytes)

/** Joins chunks up to `maxBytes`, and stops reading there. */
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

/** Reads up to `bytes`. `whole` yields them again, and then all others. */
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
  pipeline(whole, gunzip, () => {}) // the reader of `gunzip` gets the errors
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
    return new DamagedInput(`${name}: the file ends in the middle of the gzip data`)
  if (error.code?.startsWith("Z_"))
    return new DamagedInput(`${name}: the gzip data is damaged: ${error.message}`)
  return fileError(name, error)
}

/**
 * Reads at most `maxBytes` of a file, because one such as a device may have no end.
 *
 * @throws InputError if it cannot be read.
 */
export function readFileStart(file: string, maxBytes: number): Buffer {
  const bytes = Buffer.alloc(maxBytes)
  let length = 0
  let descriptor: number | undefined
  try {
    descriptor = openSync(file, "r")
    for (let read = 1; read > 0; length += read)
      read = readSync(descriptor, bytes, length, maxBytes - length, null)
    return bytes.subarray(0, length)
  } catch (error) {
    throw fileError(file, error)
  } finally {
    if (descriptor !== undefined) closeSync(descriptor)
  }
}
