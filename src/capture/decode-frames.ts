import { concat, copy } from "../codec/arrays.js"
import { outOfRange, ProtocolError, shown, wrongValue } from "../codec/errors.js"
import { loadFormatSync } from "../codec/formats.js"
import { areFlags, BODY_MAX_BYTES, COMMAND, FrameHead, frameError, MORE } from "../codec/frames.js"
import type { WasmSource } from "../codec/module.js"
import { checkBudget, checkDictionary, checkView, ownOptions } from "../codec/options.js"
import { CipherError } from "../curve/cipher.js"
import { KEY_BYTES } from "../curve/curve.js"
import { loadCurveSync } from "../curve/load.js"
import { openFrames } from "../curve/open-frames.js"
import { instancesWith } from "./instances.js"
import {
  type DecodedMessage,
  formatOf,
  MessageDecoder,
  type TransportName,
} from "./streams/messages.js"

/** Options of {@link decodeFrames}. */
export interface DecodeFramesOptions {
  /** The transport of the message's connection, or of its direction if the two differ. */
  transport: TransportName
  /** The dictionary that was in use, of 1 to 8192 bytes; over `zstd+tcp`, in Zstandard's own format. */
  dictionary?: Uint8Array
  /** Maximum plaintext of one message, in bytes; -1 is no limit. Default: -1. */
  maxMessageSize?: number
  /** With CURVE: the connection's `curveKey`, of 32 bytes, which opens the frames. */
  curveKey?: Uint8Array | undefined
  /** The WebAssembly module to use instead of the embedded one: its bytes, or a `WebAssembly.Module`. */
  wasm?: WasmSource
}

/**
 * Decodes messages again from the bytes of the file that their `ranges` refer to, so that messages
 * need not be kept until they are displayed. An arena returns several messages. The offsets of
 * errors are those in `given`.
 *
 * @param given the frames of one message or more, with their headers.
 * @throws ProtocolError if a frame's head is not allowed, or `curveKey` does not open it.
 * @throws RangeError if the bytes end in the middle of a message, or an option is out of range.
 * @throws TypeError if an argument has another type.
 */
export function decodeFrames(given: Uint8Array, options: DecodeFramesOptions): DecodedMessage[] {
  const names = ["transport", "dictionary", "maxMessageSize", "curveKey", "wasm"]
  const { transport, dictionary, maxMessageSize, curveKey, wasm } = ownOptions(options, names)
  if (transport !== "lz4+tcp" && transport !== "zstd+tcp" && transport !== "tcp")
    throw wrongValue(`transport must be "lz4+tcp", "zstd+tcp" or "tcp"; got ${shown(transport)}`)
  const wire = checkView("frames", given)
  const frames = curveKey === undefined ? wire : opened(wire, checkKey(curveKey))
  const decoder = new MessageDecoder(instancesWith(wasm), checkBudget(maxMessageSize))
  try {
    if (dictionary !== undefined) {
      const format = loadFormatSync(formatOf(transport))
      decoder.give(format.name, checkDictionary(dictionary, format))
    }
    const messages: DecodedMessage[] = []
    let parts: Uint8Array[] = []
    let offset = 0
    const head = new FrameHead()
    for (let at = 0; at < frames.length; ) {
      const start = head.read(frames, at)
      if (!areFlags(head.flags) || head.flags & COMMAND) throw frameError(frames.subarray(at))
      if (start > frames.length) break
      if (head.bodyBytes >= BODY_MAX_BYTES) throw frameError(frames.subarray(at))
      const end = start + head.bodyBytes
      if (end > frames.length) break
      parts.push(copy(frames, start, end))
      at = end
      if (head.flags & MORE) continue
      messages.push(
        ...decoder.decode(parts, transport, { time: undefined, from: undefined, offset }),
      )
      parts = []
      offset = at
    }
    if (offset < frames.length)
      throw outOfRange(
        `frames must be whole messages; got ${frames.length - offset} bytes of another`,
      )
    return messages
  } finally {
    decoder.close()
  }
}

function checkKey(key: unknown): Uint8Array {
  const bytes = checkView("curveKey", key)
  if (bytes.length === KEY_BYTES) return bytes
  throw outOfRange(`curveKey must have ${KEY_BYTES} bytes; got ${bytes.length}`)
}

/** Returns the frames in MESSAGE commands of CURVE, which either side may have sent. */
function opened(frames: Uint8Array, key: Uint8Array): Uint8Array {
  const curve = loadCurveSync()
  const open = (ofServer: boolean): Uint8Array => {
    const pieces: Uint8Array[] = []
    openFrames(curve, key, ofServer, frames, (piece) => pieces.push(piece.slice()))
    return concat(pieces)
  }
  try {
    return open(false)
  } catch (error) {
    if (!(error instanceof CipherError)) throw error
  }
  try {
    return open(true)
  } catch (error) {
    if (!(error instanceof CipherError)) throw error
    throw new ProtocolError("ERR_ZMTP_CURVE", error.message)
  }
}
