/** The connections of a capture, with their errors and dictionaries. */
import type { CaptureConnection, Handshake, Side } from "../capture/events.js"
import { connectionSummary, sideSummary } from "../capture/summary.js"
import { MAX_CONNECTIONS, type ShownConnection, type ShownSide } from "./protocol.js"
import { readable } from "./readable.js"

/**
 * Maximum number of fields of a handshake that are shown, and bytes of each value: a peer may send a
 * megabyte, and each connection has two handshakes.
 */
const WORDS_MAX = 20
const VALUE_MAX_BYTES = 100

interface Entry {
  connection: CaptureConnection
  errors: number
  /** The dictionaries of each side, the newest last, each with the first row that it applies to. */
  dictionaries: Record<Side, { row: number; bytes: Uint8Array | undefined }[]>
}

export class KnownConnections {
  readonly #entries = new Map<number, Entry>()

  get count(): number {
    return this.#entries.size
  }

  add(connection: CaptureConnection): void {
    const dictionaries = { client: [], server: [] }
    this.#entries.set(connection.id, { connection, errors: 0, dictionaries })
  }

  get(id: number): CaptureConnection | undefined {
    return this.#entries.get(id)?.connection
  }

  countError({ id }: CaptureConnection): void {
    this.#entries.get(id)!.errors++
  }

  /** Keeps the dictionary that a side uses from a row on, if it is another one. */
  noteDictionary({ id, dictionaries }: CaptureConnection, from: Side, row: number): void {
    const bytes = dictionaries[from]
    const known = this.#entries.get(id)!.dictionaries[from]
    if (known.at(-1)?.bytes !== bytes) known.push({ row, bytes })
  }

  /** Returns the dictionary that a side used at a row. */
  dictionary(id: number, from: Side, row: number): Uint8Array | undefined {
    const known = this.#entries.get(id)?.dictionaries[from]
    return known?.filter((dictionary) => dictionary.row <= row).at(-1)?.bytes
  }

  /** Returns the first connections: a list of all could be endless in a capture of a port scan. */
  summaries(): ShownConnection[] {
    const summaries: ShownConnection[] = []
    for (const entry of this.#entries.values()) {
      if (summaries.length === MAX_CONNECTIONS) break
      summaries.push(summary(entry))
    }
    return summaries
  }

  summary(id: number): ShownConnection | undefined {
    const entry = this.#entries.get(id)
    return entry && summary(entry)
  }
}

function summary({ connection, errors }: Entry): ShownConnection {
  const sides = { client: side(connection, "client"), server: side(connection, "server") }
  return { ...connectionSummary(connection, errors), sides }
}

function side(connection: CaptureConnection, from: Side): ShownSide {
  const handshake = connection.handshakes[from]
  return { ...sideSummary(connection, from), handshake: handshake && wordsOf(handshake) }
}

function wordsOf({ version, mechanism, asServer, identity, properties }: Handshake): string {
  const words = [`ZMTP ${version}`, mechanism + (asServer ? " as server" : "")]
  if (identity?.length) words.push(`identity ${beginning(identity)}`)
  for (const [name, value] of properties) {
    if (words.length === WORDS_MAX) {
      words.push("…")
      break
    }
    words.push(`${name}: ${beginning(value)}`)
  }
  return words.join(", ")
}

function beginning(bytes: Uint8Array): string {
  return readable(bytes.subarray(0, VALUE_MAX_BYTES)) + (bytes.length > VALUE_MAX_BYTES ? "…" : "")
}
