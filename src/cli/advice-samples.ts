/** Real messages of a recording, to be encoded again. */
import type { CaptureConnection, CaptureEvent, CaptureMessage, Side } from "../capture/events.js"
import { framesLength } from "../codec/frames.js"

/** Groups of which messages are kept, and the limits of each. */
const GROUPS_MAX = 16
const KEPT_MAX_BYTES = 4 << 20
const KEPT_MAX_MESSAGES = 1 << 15
/** Maximum plaintext of a message that is kept, and of messages in a batch. */
const BATCH_MAX_BYTES = 1 << 20

/** Messages that the same packet completed, which were sent together, so they may share an arena. */
interface Batch {
  connection: number
  packet: number | undefined
  messages: Uint8Array[][]
  plainBytes: number
  /** Their bytes in the recording, with the heads of their frames. */
  recordedBytes: number
}

/** What one side sent to, or as, a server: all connections with the same address and type of sender. */
export interface SampledGroup {
  from: Side
  /** The type of the sender's socket; undefined if the recording does not have it. */
  socketType: string | undefined
  /** Address and port of the server. */
  address: string
  connections: number
  messages: number
  plainBytes: number
  /** Bytes on the wire, with the heads of frames. */
  recordedBytes: number
  /** The same of dictionaries that were sent, which are not among the messages. */
  dictionaryBytes: number
  /** Some of the messages, evenly chosen from all of the recording, in order. */
  batches: readonly Batch[]
}

export class AdviceSamples {
  readonly #groups = new Map<string, Group>()
  /** Messages of groups of which none are kept. */
  othersMessages = 0
  /** MESSAGE commands of CURVE. */
  encryptedMessages = 0

  add(event: CaptureEvent): void {
    if (event.type === "command") {
      const { name } = event.command
      if (event.connection.encrypted && name === "MESSAGE") this.encryptedMessages++
    }
    if (event.type !== "message") return
    const { connection, message, packet } = event
    const { parts, from } = message
    if (parts.some(({ error }) => error)) return
    const group = this.#groupOf(connection, from)
    if (group && parts[0]?.kind === "LZ4D") group.dictionaryBytes += recordedBytesOf(message)
    else if (group) group.add(connection, message, packet)
    else this.othersMessages++
  }

  /** The groups, those with the most bytes on the wire first. */
  get groups(): SampledGroup[] {
    const groups = [...this.#groups.values()].filter(({ batches }) => batches.length > 0)
    return groups.sort((a, b) => b.recordedBytes - a.recordedBytes)
  }

  #groupOf(connection: CaptureConnection, from: Side): Group | undefined {
    const { server, handshakes } = connection
    const given = handshakes[from]?.socketType
    const socketType = given !== undefined && /^[A-Z]{3,7}$/.test(given) ? given : undefined
    const name = [from, socketType, server].join(" ")
    const known = this.#groups.get(name)
    if (known || this.#groups.size === GROUPS_MAX) return known
    const group = new Group(from, socketType, server)
    this.#groups.set(name, group)
    return group
  }
}

class Group implements SampledGroup {
  readonly from: Side
  readonly socketType: string | undefined
  readonly address: string
  connections = 0
  messages = 0
  plainBytes = 0
  recordedBytes = 0
  dictionaryBytes = 0
  batches: Batch[] = []
  readonly #seen = new WeakSet<CaptureConnection>()
  /** The newest batch, kept or not. */
  #newest: Batch | undefined
  #batchCount = 0
  /** One batch in so many is kept. */
  #step = 1
  #keptBytes = 0
  #keptMessages = 0

  constructor(from: Side, socketType: string | undefined, address: string) {
    this.from = from
    this.socketType = socketType
    this.address = address
  }

  add(connection: CaptureConnection, message: CaptureMessage, packet: number | undefined): void {
    if (!this.#seen.has(connection)) this.connections++
    this.#seen.add(connection)
    const recordedBytes = recordedBytesOf(message)
    this.messages++
    this.plainBytes += message.plainBytes
    this.recordedBytes += recordedBytes
    if (message.plainBytes <= BATCH_MAX_BYTES)
      this.#keep(connection.id, message, packet, recordedBytes)
  }

  #keep(
    connection: number,
    { parts, plainBytes }: CaptureMessage,
    packet: number | undefined,
    recordedBytes: number,
  ): void {
    let batch = this.#newest
    const isNew =
      !batch ||
      packet === undefined ||
      batch.packet !== packet ||
      batch.connection !== connection ||
      batch.plainBytes + plainBytes > BATCH_MAX_BYTES
    if (!batch || isNew) {
      batch = { connection, packet, messages: [], plainBytes: 0, recordedBytes: 0 }
      this.#newest = batch
      if (this.#batchCount++ % this.#step === 0) this.batches.push(batch)
    }
    if (this.batches.at(-1) !== batch) return
    // Copied, because a view would keep all of its memory.
    batch.messages.push(parts.map(({ plain }) => (plain as Uint8Array).slice()))
    batch.plainBytes += plainBytes
    batch.recordedBytes += recordedBytes
    this.#keptBytes += plainBytes
    this.#keptMessages++
    if (this.#keptBytes > KEPT_MAX_BYTES || this.#keptMessages > KEPT_MAX_MESSAGES) this.#thinOut()
  }

  /** Drops every other batch. */
  #thinOut(): void {
    this.#step *= 2
    this.batches = this.batches.filter((_, i) => i % 2 === 0)
    this.#keptBytes = this.batches.reduce((sum, { plainBytes }) => sum + plainBytes, 0)
    this.#keptMessages = this.batches.reduce((sum, { messages }) => sum + messages.length, 0)
  }
}

/** Returns a message's bytes on the wire with the heads of its frames; of an arena, its share. */
function recordedBytesOf({ parts, wireBytes, arena }: CaptureMessage): number {
  if (!arena) return framesLength(parts.map(({ wire }) => wire))
  const [first] = parts
  // The first one has the head of the only frame.
  return (
    wireBytes + (arena.index === 0 && first ? framesLength([first.wire]) - first.wire.length : 0)
  )
}
