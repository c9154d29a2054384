import { FrameHead } from "../codec/frames.js"
import { CipherError, COUNTER_BYTES, MESSAGE_EXTRA_BYTES } from "./cipher.js"
import { type Curve, NONCE_BYTES } from "./curve.js"
import { type FramesSink, Opener } from "./opener.js"

/** Bytes of a MESSAGE command before its counter: the length of its name, and the name. */
const NAME_BYTES = 8
/** What nonces of either side begin with. */
const OF_CLIENT = new TextEncoder().encode("CurveZMQMESSAGEC")
const OF_SERVER = new TextEncoder().encode("CurveZMQMESSAGES")
/** ZL_E_FORGED in curve.h. */
const FORGED = -4

/**
 * Returns whether the body of a MESSAGE command, which has at least MESSAGE_EXTRA_BYTES, is sealed with
 * this key. Takes less time than openFrames().
 */
export function isSealedWith(
  curve: Curve,
  key: Uint8Array,
  ofServer: boolean,
  body: Uint8Array,
): boolean {
  const counter = body.subarray(NAME_BYTES, NAME_BYTES + COUNTER_BYTES)
  const nonce = new Uint8Array(NONCE_BYTES)
  nonce.set(ofServer ? OF_SERVER : OF_CLIENT)
  nonce.set(counter, NONCE_BYTES - COUNTER_BYTES)
  return curve.open(key, nonce, body.subarray(NAME_BYTES + COUNTER_BYTES)) !== undefined
}

/** Returns the counter of the MESSAGE command with this body, which has at least MESSAGE_EXTRA_BYTES. */
export function messageCounter(body: Uint8Array): bigint {
  const { buffer, byteOffset } = body
  return new DataView(buffer, byteOffset + NAME_BYTES, COUNTER_BYTES).getBigUint64(0)
}

/**
 * Opens whole frames with MESSAGE commands of one direction, from anywhere in its stream. The opened
 * frames are valid during the call of `sink` only.
 *
 * @param key the key of the connection. @param ofServer whether CURVE's server sent the frames.
 * @throws CipherError if one is no MESSAGE, or not sealed with this key.
 */
export function openFrames(
  curve: Curve,
  key: Uint8Array,
  ofServer: boolean,
  frames: Uint8Array,
  sink: FramesSink,
): void {
  const head = new FrameHead()
  const start = head.read(frames, 0)
  if (frames.length < start + MESSAGE_EXTRA_BYTES) throw new CipherError(FORGED)
  const counter = new Uint8Array(COUNTER_BYTES)
  const first = messageCounter(frames.subarray(start))
  new DataView(counter.buffer).setBigUint64(0, first - (first > 0n ? 1n : 0n))
  const opener = new Opener(curve, { key, ofServer, counter }, Number.POSITIVE_INFINITY)
  try {
    opener.open(frames, sink)
  } finally {
    opener.close()
  }
}
