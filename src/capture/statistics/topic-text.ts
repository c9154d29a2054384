import { hex } from "../../codec/errors.js"
import { utf8 } from "../printable.js"

/** Bytes of a topic. Longer ones are cut, and counted together if they are the same up to there. */
export const TOPIC_BYTES = 64

/** Returns the beginning of a topic as text, or in hexadecimal if it is not UTF-8. */
export function topicText(topic: Uint8Array): string {
  const start = topic.subarray(0, TOPIC_BYTES)
  const text = utf8(start)
  return text === undefined || text.includes("\0") ? `hex ${hex(start)}` : text
}
