import { shown, wrongType } from "../codec/errors.js"
import { isLoaded, loadFormat } from "../codec/formats.js"
import { lz4 } from "../codec/lz4/format.js"
import { loadInstance } from "../codec/module.js"
import { checkView, own, ownOptions } from "../codec/options.js"
import { loadCurve } from "../curve/load.js"
import type { CaptureEvent, CaptureOptions } from "./events.js"
import { CaptureReader, OPTION_NAMES } from "./reader.js"

/** Options of {@link readCapture}. */
export interface ReadCaptureOptions extends CaptureOptions {
  /** Called with the number of bytes read so far, and the total if all files are Blobs. */
  onProgress?: (bytesRead: number, totalBytes: number | undefined) => void
  /** Aborts the reading: the generator throws the signal's reason. */
  signal?: AbortSignal
}

/** A source of a capture: a File of a page, a stream, or an iterable of bytes. */
export type CaptureSource = Blob | ReadableStream<Uint8Array> | AsyncIterable<Uint8Array>

/** Larger chunks would only make the list of events longer that the caller has not read yet. */
const CHUNK_BYTES = 1 << 18

/**
 * Reads a capture in chunks, from a File of a page or a stream of Node: gigabytes in little memory.
 * Of several files, such as a ring that tcpdump wrote, the packets are merged by time.
 *
 * @throws CaptureFormatError if the file is not a capture.
 * @throws TypeError or RangeError if an argument has another type, or an option is unknown or out of
 * range.
 * @throws Error with the code ERR_LZ4_WASM if the module cannot be loaded.
 *
 * @example
 * ```js
 * for await (const event of readCapture(createReadStream("capture.pcap")))
 *   if (event.type === "message") console.log(event.message.plainBytes)
 * ```
 */
export async function* readCapture(
  file: CaptureSource | readonly CaptureSource[],
  options: ReadCaptureOptions = {},
): AsyncGenerator<CaptureEvent, void, undefined> {
  const names = [...OPTION_NAMES, "onProgress", "signal"]
  const { onProgress, signal, ...rest } = ownOptions(options, names)
  const others = own(rest)
  if (onProgress !== undefined && typeof onProgress !== "function")
    throw wrongType(`onProgress must be a function; got ${shown(onProgress)}`)
  if (signal !== undefined && !(signal instanceof AbortSignal))
    throw wrongType(`signal must be an AbortSignal; got ${shown(signal)}`)
  const files: readonly CaptureSource[] = Array.isArray(file) ? file : [file]
  const sources = files.map((file) => piecesOf(chunksOf(file)))
  const { module } = await loadInstance(lz4, others.wasm)
  if (others.keys) {
    await loadCurve()
    await loadFormat("zstd") // its signs are encrypted
  }
  using reader = new CaptureReader(others.wasm ? { ...others, wasm: module } : others, files.length)
  const total = files.every((file) => file instanceof Blob)
    ? files.reduce((sum, { size }) => sum + size, 0)
    : undefined
  let read = 0
  try {
    signal?.throwIfAborted()
    for (let file = reader.wanted; file !== undefined; file = reader.wanted) {
      const { value: piece } = await (sources[file] as AsyncGenerator<Uint8Array>).next()
      if (piece && !isLoaded("zstd") && mayNeedZstd(piece)) await loadFormat("zstd")
      const events = piece ? reader.push(piece, file) : reader.endFile(file)
      if (piece) {
        read += piece.length
        onProgress?.(read, total)
      }
      for (const event of events) {
        signal?.throwIfAborted()
        yield event
      }
      signal?.throwIfAborted()
    }
  } finally {
    for (const source of sources) await source.return(undefined)
  }
  yield* reader.end()
}

/** The first bytes of the sentinels of zstd+tcp, and the letters of its property in READY. */
const SIGNS: readonly (readonly number[])[] = [
  [0x28, 0xb5, 0x2f, 0xfd],
  [0x37, 0xa4, 0x30, 0xec],
  [0x5a, 0x53, 0x54, 0x41],
  [0x58, 0x2d, 0x5a, 0x73],
]

/** Returns whether bytes may have parts of zstd+tcp, whose module is only loaded then. */
function mayNeedZstd(bytes: Uint8Array): boolean {
  return SIGNS.some((sign) => {
    for (let at = bytes.indexOf(sign[0] as number); at >= 0; ) {
      if (sign.every((byte, i) => bytes[at + i] === byte)) return true
      at = bytes.indexOf(sign[0] as number, at + 1)
    }
    return false
  })
}

async function* piecesOf(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array, undefined> {
  for await (const chunk of chunks) {
    checkView("a chunk", chunk)
    for (let at = 0; at < chunk.length; at += CHUNK_BYTES)
      yield chunk.subarray(at, at + CHUNK_BYTES)
  }
}

function chunksOf(file: CaptureSource): AsyncIterable<Uint8Array> {
  if (file instanceof Blob) return chunksOfStream(file.stream())
  if (file instanceof ReadableStream) return chunksOfStream(file)
  if (typeof file?.[Symbol.asyncIterator] === "function") return file
  throw wrongType(`file must be a Blob, a ReadableStream or an async iterable; got ${shown(file)}`)
}

/** Not every browser can iterate over a stream. */
async function* chunksOfStream(stream: ReadableStream<Uint8Array>): AsyncGenerator<Uint8Array> {
  const reader = stream.getReader()
  try {
    for (;;) {
      const { done, value } = await reader.read()
      if (done) return
      yield value
    }
  } finally {
    await reader.cancel()
  }
}
