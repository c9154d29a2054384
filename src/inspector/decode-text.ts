/** Decodes bytes that were pasted as hexadecimal. */
import { type DecodedPiece, decodeBytes, kindOfBytes } from "../capture/decode-bytes.js"
import type { CapturePart } from "../capture/events.js"
import { parseHex } from "../capture/hex-text.js"
import { firstParts, partCount, wireBytesOf } from "../capture/parts.js"
import { contentOf } from "../capture/streams/messages.js"
import type { Pasted, PastedPart, PastedPiece } from "./protocol.js"
import { readable } from "./readable.js"

/** Maximum bytes of a part, parts of a message, and pieces that are shown. */
const SHOWN_BYTES = 16 << 10
const SHOWN_PARTS = 100
const SHOWN_PIECES = 100

export function decodeText(text: string, dictionary: Uint8Array | undefined): Pasted {
  const bytes = parseHex(text)
  if (bytes.length === 0) throw new RangeError("There are no bytes.")
  const pieces: PastedPiece[] = []
  for (const piece of decodeBytes(bytes, dictionary)) {
    pieces.push(...pastedPieces(piece))
    if (pieces.length > SHOWN_PIECES) break
  }
  return {
    as: kindOfBytes(bytes),
    bytes: bytes.length,
    pieces: pieces.slice(0, SHOWN_PIECES),
    more: pieces.length > SHOWN_PIECES,
  }
}

function pastedPieces(piece: DecodedPiece): PastedPiece[] {
  switch (piece.type) {
    case "message":
      return piece.messages.map((message) => {
        const parts = firstParts(message, SHOWN_PARTS)
        const wire = wireBytesOf(message, parts)
        return {
          title: `Message${piece.isWhole ? "" : ", of which more parts follow"}`,
          parts: parts.map((part, i) => pastedPart(part, wire[i]!, message.arena !== undefined)),
          more: Math.max(partCount(message) - SHOWN_PARTS, 0),
        }
      })
    case "greeting": {
      const { version, mechanism, asServer } = piece
      return [said(`Greeting of ZMTP ${version}, ${mechanism}${asServer ? " as server" : ""}`)]
    }
    case "command":
      return [said(`Command ${piece.name}${piece.detail ? `: ${piece.detail}` : ""}`)]
    case "encrypted":
      return [said(`Message of CURVE, encrypted, ${piece.bytes} bytes`)]
    case "error":
      return [{ title: "", parts: [], error: piece.message }]
  }
}

const said = (title: string): PastedPiece => ({ title, parts: [] })

function pastedPart(part: CapturePart, wireBytes: number, isOfArena: boolean): PastedPart {
  const content = contentOf(part)
  return {
    kind: part.kind,
    wireBytes,
    arenaBytes: isOfArena ? part.wire.length : undefined,
    plainBytes: content?.length,
    error: part.error && `${part.error.code}: ${part.error.message}`,
    text: content && readable(content.subarray(0, SHOWN_BYTES)),
    more: content !== undefined && content.length > SHOWN_BYTES,
  }
}
