import { TextDecoder } from "../../base/text.js"
import type { CaptureEvent, CaptureMessage } from "../events.js"
import { detailOf, formOf } from "../rows.js"
import { contentOf } from "../streams/messages.js"
import { PackedMessage } from "../streams/packed-message.js"

/** Bytes of a message that are searched: a whole message may be longer than the longest string. */
const SEARCHED_BYTES = 16 << 20
const LINE_FEED = 10

let decoder: InstanceType<typeof TextDecoder> | undefined

/** Returns the text of an event that conditions of a filter search. */
export function searchedText(event: CaptureEvent): string {
  if (event.type === "message") return messageText(event.message)
  if (event.type === "error") return detailOf(event)
  const said = `${formOf(event)} ${detailOf(event)}`
  // The ends of a connection are found wherever it begins or ends.
  const { client, server } = event.connection
  return event.type === "close" ? `${client} → ${server} ${said}` : said
}

function messageText(message: CaptureMessage): string {
  decoder ??= new TextDecoder()
  const packed = PackedMessage.of(message)
  if (packed) return decoder.decode(packed.joined(LINE_FEED))
  let left = SEARCHED_BYTES
  const texts = message.parts.map((part) => {
    if (part.error) return `${part.error.code}: ${part.error.message}`
    const searched = (contentOf(part) as Uint8Array).subarray(0, left)
    left -= searched.length
    return (decoder as InstanceType<typeof TextDecoder>).decode(searched)
  })
  return texts.join("\n")
}
