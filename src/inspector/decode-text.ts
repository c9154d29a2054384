/** Decodes bytes that were pasted as hexadecimal. */
import { decodeBytes } from "../capture/decode-bytes.js"
import type { CapturePart } from "../capture/events.js"
import { parseHex } from "../capture/hex-text.js"
import { contentOf } from "../capture/streams/messages.js"
import { MAX_MESSAGE_BYTES } from "./limits.js"
import type { Pasted, PastedPart } from "./protocol.js"
import { readable } from "./readable.js"

/** Bytes of a part, parts of a message, and messages that are shown. */
const SHOWN_BYTES = 16 << 10
const SHOWN_PARTS = 100

export function decodeText(
  text: string,
  transport: "lz4+tcp" | "tcp",
  dictionary: Uint8Array | undefined,
): Pasted {
  const bytes = parseHex(text)
  if (bytes.length === 0) throw new RangeError("There are no bytes.")
  const { as, messages } = decodeBytes(bytes, {
    transport,
    dictionary,
    maxMessageSize: MAX_MESSAGE_BYTES,
  })
  const shown = messages.slice(0, SHOWN_PARTS)
  return {
    as,
    bytes: bytes.length,
    messages: shown.map(({ parts }) => parts.slice(0, SHOWN_PARTS).map(pastedPart)),
  }
}

function pastedPart(part: CapturePart): PastedPart {
  const content = contentOf(part)
  return {
    kind: part.kind,
    wireBytes: part.wire.length,
    plainBytes: content?.length,
    error: part.error && `${part.error.code}: ${part.error.message}`,
    text: content && readable(content.subarray(0, SHOWN_BYTES)),
    more: content !== undefined && content.length > SHOWN_BYTES,
  }
}
