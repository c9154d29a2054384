/** One row with all of its bytes, read from the file again. */

import type { CaptureConnection, CapturePart, PartKind } from "../capture/events.js"
import { decodeFrames, placeOf } from "../capture/index.js"
import { MESSAGE_MAX_BYTES } from "../capture/message-limit.js"
import { firstParts, wireBytesOf } from "../capture/parts.js"
import { contentOf, transportOf as transportOfForm } from "../capture/streams/messages.js"
import { concat } from "../codec/arrays.js"
import type { CaptureIndex } from "./capture-index.js"
import { indentJson } from "./json.js"
import type { Bytes, Details, PartDetails, Row } from "./protocol.js"
import { MAX_JSON_BYTES, readsAs } from "./readable.js"
import type { CaptureFile, Range } from "./reading.js"

/** Maximum number of parts that the detail pane lists. */
const MAX_PARTS = 200
/** Bytes of the file that are shown for an error. */
const ERROR_BYTES = 256

interface Part extends PartDetails {
  plain: Uint8Array | undefined
  wire: Uint8Array | undefined
}

export class Opened {
  readonly details: Details
  readonly #parts: readonly Part[]

  private constructor(details: Details, parts: readonly Part[]) {
    this.#parts = parts
    const shown = parts.map(({ plain, wire, ...shown }) => shown)
    this.details = { ...details, parts: shown }
  }

  static async read(
    index: CaptureIndex,
    files: readonly CaptureFile[],
    row: number,
  ): Promise<Opened> {
    const connection = index.connections.get(index.connectionId(row))
    const ranges = index.ranges(row)
    const details: Details = {
      row: index.row(row),
      connection: connection && index.connections.summary(connection.id),
      offset: ranges[0],
      arena: index.arena(row),
      parts: [],
      command: undefined,
      error: undefined,
    }
    switch (details.row.kind) {
      case "command":
      case "connection":
      case "handshake":
      case "close": {
        const [name, detail, body] = index.record(row)
        details.command = { name: decode(name), detail: decode(detail) }
        return new Opened(details, body?.length ? [partOf({ plain: body })] : [])
      }
      case "error": {
        const [code, message] = index.record(row)
        details.error = { code: decode(code) as "ERR_CAPTURE_GAP", message: decode(message) }
        const wire = await bytesOf(files, [ranges[0]!, ERROR_BYTES])
        return new Opened(details, wire.length ? [partOf({ wire })] : [])
      }
      default: {
        const frames = await bytesOf(files, ranges)
        const messages = decodeFrames(frames, {
          transport: transportOf(details.row, connection),
          dictionary: index.dictionary(row),
          maxMessageSize: MESSAGE_MAX_BYTES,
          curveKey: connection?.curveKey,
        })
        const message = messages[details.arena?.index ?? 0]
        if (!message) return new Opened(details, [])
        const parts = firstParts(message, MAX_PARTS)
        const wireBytes = wireBytesOf(message, parts)
        return new Opened(
          details,
          parts.map((part, i) => ({
            ...partOf({ ...part, plain: contentOf(part) }),
            wireBytes: wireBytes[i],
            arenaBytes: message.arena && part.wire.length,
          })),
        )
      }
    }
  }

  bytes(part: number, which: Bytes, from: number, to: number): Uint8Array {
    // Copied, because it is transferred.
    return this.#bytes(part, which).slice(from, to)
  }

  blob(part: number, which: Bytes): Blob {
    return new Blob([this.#bytes(part, which) as Uint8Array<ArrayBuffer>])
  }

  json(part: number, characters: number): { text: string; more: boolean } {
    const bytes = this.#bytes(part, "plain")
    if (bytes.length > MAX_JSON_BYTES)
      throw new RangeError("It is longer than the 16 MiB that are tried as JSON.")
    const text = new TextDecoder("utf-8", { fatal: true }).decode(bytes)
    return indentJson(text, characters)
  }

  #bytes(part: number, which: Bytes): Uint8Array {
    const bytes = this.#parts[part]?.[which]
    if (!bytes) throw new RangeError(`Part ${part + 1} has no ${which} bytes.`)
    return bytes
  }
}

/** Returns what the sender of a message speaks, which the other side may not. */
function transportOf({ forms, failed }: Row, connection: CaptureConnection | undefined) {
  const shown = forms
    .map((form) => transportOfForm(form as PartKind))
    .find((one) => one && one !== "tcp")
  if (shown) return shown
  if (forms.includes("plain")) return connection?.transport === "zstd+tcp" ? "zstd+tcp" : "lz4+tcp"
  // Known from the first message on.
  return failed ? (connection?.transport ?? "lz4+tcp") : "tcp"
}

function partOf({ kind, plain, wire, error }: Partial<CapturePart>): Part {
  return {
    kind,
    plain,
    wire,
    plainBytes: plain?.length,
    wireBytes: wire?.length,
    arenaBytes: undefined,
    error: error && { code: error.code, message: error.message },
    reads: plain ? readsAs(plain) : "bytes",
  }
}

/** Returns ranges of the files, joined. */
async function bytesOf(
  files: readonly CaptureFile[],
  ranges: readonly number[],
): Promise<Uint8Array> {
  const runs: { file: number; ranges: Range[] }[] = []
  for (let i = 0; i < ranges.length; i += 2) {
    const { file, offset } = placeOf(ranges[i]!)
    if (runs.at(-1)?.file !== file) runs.push({ file, ranges: [] })
    runs.at(-1)!.ranges.push([offset, offset + ranges[i + 1]!])
  }
  return concat(await Promise.all(runs.map(({ file, ranges }) => files[file]!.read(ranges))))
}

const decode = (bytes: Uint8Array | undefined): string => new TextDecoder().decode(bytes)
