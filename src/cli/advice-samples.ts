/** Real messages of a recording, to be encoded again. */
import type {
  CaptureConnection,
  CaptureEvent,
  CaptureMessage,
  CapturePart,
  Side,
} from "../capture/events.js"
import { eachPart, isShipment, partCount, variousParts } from "../capture/parts.js"
import { framesLength } from "../codec/frames.js"
import { isTypeName } from "../zmtp/socket-types.js"

/** Maximum number of groups that are counted, and of those whose messages are kept. */
const GROUPS_MAX = 1000
const SAMPLED_MAX = 16
/** A group takes the place of another, whose messages are dropped, once it has this many times its bytes. */
const TAKES_OVER = 1.25
/** Maximum bytes that are kept of a group, and of a batch; each part counts PART_BYTES more than it has. */
const KEPT_MAX_BYTES = 4 << 20
const BATCH_MAX_BYTES = 1 << 20
const PART_BYTES = 256
/** Maximum plaintext and parts of a message that is kept. */
const MESSAGE_MAX_BYTES = 1 << 20
const MESSAGE_MAX_PARTS = 4096

/** Messages that the same packet completed, which were sent together, so they may share an arena. */
interface Batch {
  connection: number
  packet: number | undefined
  messages: Uint8Array[][]
  plainBytes: number
  /** Their bytes in the recording, with the heads of their frames. */
  recordedBytes: number
  /** The memory that they take, approximately. */
  keptBytes: number
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
  /** Some of the messages in order, evenly chosen since the group is among the largest. */
  batches: readonly Batch[]
}

export class AdviceSamples {
  readonly #groups = new Map<string, Group>()
  #sampled: Group[] = []
  /** Messages of groups that are not counted. */
  #uncounted = 0
  /** Messages of the other groups that are not kept, because of their size. */
  tooLargeMessages = 0
  /** MESSAGE commands of CURVE. */
  encryptedMessages = 0

  add(event: CaptureEvent): void {
    if (event.type === "command") {
      const { name } = event.command
      if (event.connection.encrypted && name === "MESSAGE") this.encryptedMessages++
    }
    if (event.type !== "message") return
    const { connection, message, packet } = event
    if (variousParts(message).some(({ error }) => error)) return
    const group = this.#groupOf(connection, message.from)
    if (group && isShipment(message)) group.dictionaryBytes += recordedBytesOf(message)
    else if (group) this.#addTo(group, connection, message, packet)
    else this.#uncounted++
  }

  /** The groups of which messages were kept, those with the most bytes on the wire first. */
  get groups(): SampledGroup[] {
    const groups = this.#sampled.filter(({ batches }) => batches.length > 0)
    return groups.sort((a, b) => b.recordedBytes - a.recordedBytes)
  }

  /** The number of messages of groups of which none are kept. */
  get othersMessages(): number {
    const others = [...this.#groups.values()].filter(({ isSampled }) => !isSampled)
    return others.reduce((sum, { messages }) => sum + messages, this.#uncounted)
  }

  #addTo(
    group: Group,
    connection: CaptureConnection,
    message: CaptureMessage,
    packet: number | undefined,
  ): void {
    group.count(connection, message)
    if (!group.isSampled) this.#choose(group)
    if (!group.isSampled) return
    if (message.plainBytes > MESSAGE_MAX_BYTES || partCount(message) > MESSAGE_MAX_PARTS)
      this.tooLargeMessages++
    else group.keep(connection.id, message, packet)
  }

  /** Keeps messages of a group from now on, if it is large enough. */
  #choose(group: Group): void {
    if (this.#sampled.length === SAMPLED_MAX) {
      const smallest = this.#sampled.reduce((a, b) => (b.recordedBytes < a.recordedBytes ? b : a))
      if (group.recordedBytes < TAKES_OVER * smallest.recordedBytes) return
      smallest.drop()
      this.#sampled = this.#sampled.filter((one) => one !== smallest)
    }
    group.isSampled = true
    this.#sampled.push(group)
  }

  #groupOf(connection: CaptureConnection, from: Side): Group | undefined {
    const { server, handshakes } = connection
    const given = handshakes[from]?.socketType
    const socketType = given !== undefined && isTypeName(given) ? given : undefined
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
  /** Whether messages are kept. */
  isSampled = false
  readonly #seen = new WeakSet<CaptureConnection>()
  /** The newest batch, kept or not. */
  #newest: Batch | undefined
  #batchCount = 0
  /** Every nth batch is kept; this is n. */
  #step = 1
  #keptBytes = 0

  constructor(from: Side, socketType: string | undefined, address: string) {
    this.from = from
    this.socketType = socketType
    this.address = address
  }

  count(connection: CaptureConnection, message: CaptureMessage): void {
    if (!this.#seen.has(connection)) this.connections++
    this.#seen.add(connection)
    this.messages++
    this.plainBytes += message.plainBytes
    this.recordedBytes += recordedBytesOf(message)
  }

  /** Keeps a message, or leaves it out as one of too many. */
  keep(connection: number, message: CaptureMessage, packet: number | undefined): void {
    const { plainBytes } = message
    const keptBytes = plainBytes + PART_BYTES * partCount(message)
    let batch = this.#newest
    const isNew =
      !batch ||
      packet === undefined ||
      batch.packet !== packet ||
      batch.connection !== connection ||
      batch.keptBytes + keptBytes > BATCH_MAX_BYTES
    if (!batch || isNew) {
      batch = { connection, packet, messages: [], plainBytes: 0, recordedBytes: 0, keptBytes: 0 }
      this.#newest = batch
      if (this.#batchCount++ % this.#step === 0) this.batches.push(batch)
    }
    if (this.batches.at(-1) !== batch) return
    // Copied, because a view would keep all of its memory.
    batch.messages.push(Array.from(eachPart(message), ({ plain }) => (plain as Uint8Array).slice()))
    batch.plainBytes += plainBytes
    batch.recordedBytes += recordedBytesOf(message)
    batch.keptBytes += keptBytes
    this.#keptBytes += keptBytes
    if (this.#keptBytes > KEPT_MAX_BYTES) this.#thinOut()
  }

  /** Drops every other batch. */
  #thinOut(): void {
    this.#step *= 2
    this.batches = this.batches.filter((_, i) => i % 2 === 0)
    this.#keptBytes = this.batches.reduce((sum, { keptBytes }) => sum + keptBytes, 0)
  }

  /** Keeps no messages any more, and none of those that it has. */
  drop(): void {
    this.isSampled = false
    this.batches = []
    this.#newest = undefined
    this.#batchCount = 0
    this.#step = 1
    this.#keptBytes = 0
  }
}

/** Returns a message's bytes on the wire with the heads of its frames; of an arena, its share. */
function recordedBytesOf(message: CaptureMessage): number {
  const { wireBytes, arena } = message
  if (!arena) return framesLength(message.parts.map(({ wire }) => wire))
  const { wire } = variousParts(message)[0] as CapturePart
  // The first one has the head of the only frame.
  return wireBytes + (arena.index === 0 ? framesLength([wire]) - wire.length : 0)
}
