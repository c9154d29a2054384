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
/** A group displaces the smallest sampled one once it has this many times its bytes. */
const TAKES_OVER = 1.25
/** Maximum bytes kept of a group, and of a batch; each part counts as PART_BYTES more. */
const KEPT_MAX_BYTES = 4 << 20
const BATCH_MAX_BYTES = 1 << 20
const PART_BYTES = 256
/** Limits of a message that is kept. */
const MESSAGE_MAX_BYTES = 1 << 20
const MESSAGE_MAX_PARTS = 4096

/** Messages completed by the same packet: they were sent together, so an arena could hold them. */
interface Batch {
  connection: number
  packet: number | undefined
  messages: Uint8Array[][]
  plainBytes: number
  /** Bytes in the recording, frame heads included. */
  recordedBytes: number
  /** Approximate memory. */
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
  /** Bytes on the wire, frame heads included. */
  recordedBytes: number
  /** The same for dictionaries, which are not messages. */
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
    if (!group) {
      this.#uncounted++
      return
    }
    if (isShipment(message)) {
      group.dictionaryBytes += recordedBytesOf(message)
      return
    }
    group.count(connection, message)
    const sample = this.#sampleOf(group)
    if (!sample) return
    if (message.plainBytes > MESSAGE_MAX_BYTES || partCount(message) > MESSAGE_MAX_PARTS)
      this.tooLargeMessages++
    else sample.add(connection.id, message, packet)
  }

  /** The groups of which messages were kept, those with the most bytes on the wire first. */
  get groups(): SampledGroup[] {
    const groups = this.#sampled.filter(({ batches }) => batches.length > 0)
    return groups.sort((a, b) => b.recordedBytes - a.recordedBytes)
  }

  /** Counts the messages of groups without a sample. */
  get othersMessages(): number {
    const others = [...this.#groups.values()].filter(({ sample }) => !sample)
    return others.reduce((sum, { messages }) => sum + messages, this.#uncounted)
  }

  /** Returns where messages of a group are kept, from now on if it has become large enough. */
  #sampleOf(group: Group): Sample | undefined {
    if (group.sample) return group.sample
    if (this.#sampled.length === SAMPLED_MAX) {
      const smallest = this.#sampled.reduce((a, b) => (b.recordedBytes < a.recordedBytes ? b : a))
      if (group.recordedBytes < TAKES_OVER * smallest.recordedBytes) return undefined
      smallest.sample = undefined
      this.#sampled = this.#sampled.filter((one) => one !== smallest)
    }
    this.#sampled.push(group)
    group.sample = new Sample()
    return group.sample
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
  /** What is kept of the messages; undefined if none are. */
  sample: Sample | undefined
  readonly #seen = new WeakSet<CaptureConnection>()

  constructor(from: Side, socketType: string | undefined, address: string) {
    this.from = from
    this.socketType = socketType
    this.address = address
  }

  get batches(): readonly Batch[] {
    return this.sample?.batches ?? []
  }

  count(connection: CaptureConnection, message: CaptureMessage): void {
    if (!this.#seen.has(connection)) this.connections++
    this.#seen.add(connection)
    this.messages++
    this.plainBytes += message.plainBytes
    this.recordedBytes += recordedBytesOf(message)
  }
}

/** Batches that are evenly chosen from all, as many as there is room for. */
class Sample {
  batches: Batch[] = []
  /** The newest batch, kept or not. */
  #newest: Batch | undefined
  #batchCount = 0
  /** Every nth batch is kept; this is n. */
  #step = 1
  #keptBytes = 0

  /** Keeps a message, or leaves it out as one of too many. */
  add(connection: number, message: CaptureMessage, packet: number | undefined): void {
    const { plainBytes } = message
    const keptBytes = plainBytes + PART_BYTES * partCount(message)
    let batch = this.#newest
    const isNew =
      packet === undefined ||
      batch?.packet !== packet ||
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
}

/** Returns a message's bytes on the wire, frame heads included; in an arena, its share. */
function recordedBytesOf(message: CaptureMessage): number {
  const { wireBytes, arena } = message
  if (!arena) return framesLength(message.parts.map(({ wire }) => wire))
  const { wire } = variousParts(message)[0] as CapturePart
  // The first one has the head of the only frame.
  return wireBytes + (arena.index === 0 ? framesLength([wire]) - wire.length : 0)
}
