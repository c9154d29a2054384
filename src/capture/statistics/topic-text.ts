import { hex } from "../../codec/errors.js"
import { utf8 } from "../printable.js"

/** Bytes of a topic. Longer ones are cut, and counted together if they are the same up to there. */
export const TOPIC_BYTES = 64

/** The first character of the keys of topics that are not text, which have no such character. */
const BINARY = "\0"

/** Returns a text for the beginning of a topic that no other beginning has. */
export function topicKey(topic: Uint8Array): string {
  const start = topic.subarray(0, TOPIC_BYTES)
  const text = utf8(start)
  return text === undefined || text.includes(BINARY) ? `${BINARY}${hex(start)}` : text
}

/** Returns the beginning of a topic as text, or in hexadecimal after "hex " if it is not UTF-8. */
export function topicName(key: string): { name: string; hex?: true } {
  return key.startsWith(BINARY) ? { name: `hex ${key.slice(1)}`, hex: true } : { name: key }
}
