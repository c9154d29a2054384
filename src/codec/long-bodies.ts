/** Says which plain parts are copied past the module, in both directions: those with long bodies. */
import { COMMAND, FrameHead } from "./frames.js"
import { SENTINEL_BYTES } from "./wire.js"

/** Bodies longer than this are not copied into the module. They are never in an arena. */
export const BYPASS_MIN_BYTES = 8192
/** Number of consecutive frames searched for such bodies: more would take longer than they save. */
export const BYPASS_FRAMES = 16

/**
 * Returns the position of the first long plain body, or the end of `frames` if none of the first
 * frames has one. `frames` begins with a frame. Nothing is checked here, because the module reads
 * all heads.
 */
export function findPlainBody(frames: Uint8Array): number {
  const head = new FrameHead()
  let at = 0
  for (let i = 0; i < BYPASS_FRAMES && at < frames.length; i++) {
    const body = head.read(frames, at)
    if (body + SENTINEL_BYTES > frames.length) break
    const { flags, bodyBytes } = head
    if (bodyBytes > BYPASS_MIN_BYTES && !(flags & COMMAND) && isPlain(frames, body))
      return body + SENTINEL_BYTES
    at = body + bodyBytes
  }
  return frames.length
}

function isPlain(bytes: Uint8Array, at: number): boolean {
  return bytes[at] === 0 && bytes[at + 1] === 0 && bytes[at + 2] === 0 && bytes[at + 3] === 0
}
