/** The log of a small web shop, the same in every run. */
import { logEvents } from "../bench/payloads.mjs"

export const EVENTS = 100_000

export function* events() {
  const source = logEvents(1)
  for (let i = 0; i < EVENTS; i++) yield source.next().value
}

/** Returns a dictionary: consecutive events of another day. */
export function dictionary() {
  let text = ""
  for (const event of logEvents(2)) {
    if (text.length + event.length > 8192) return Buffer.from(text)
    text += event
  }
}
