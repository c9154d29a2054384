/** The log of a small web shop, the same in every run. */
import { logEvents } from "../bench/payloads.mjs"

const MESSAGES = 4000
/** Size of a message in bytes, about. */
const MESSAGE_BYTES = 1024

/** Returns messages of several events each. */
export function messages() {
  const source = logEvents(1)
  return Array.from({ length: MESSAGES }, () => {
    let text = ""
    while (text.length < MESSAGE_BYTES) text += `${source.next().value}\n`
    return Buffer.from(text)
  })
}
