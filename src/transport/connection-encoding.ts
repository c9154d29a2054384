import type { Chunk } from "../codec/chunk.js"
import type { DictionaryGroup, DictionaryGroups, Recipient } from "../codec/dictionary-groups.js"
import type { Efforts } from "../codec/format.js"
import { loadFormatSync } from "../codec/formats.js"
import { NO_EFFORT } from "../codec/no-effort.js"
import type { Settings } from "../codec/options.js"
import type { Sender } from "../codec/sender.js"
import { EffortMeter, groupMeter, knownGroupMeter, type Measured } from "./effort-meter.js"
import { NetworkMeter } from "./network-meter.js"
import { type ThreadEffort, threadEffort } from "./thread-effort.js"
import type { Encoding } from "./transport.js"

/** Plaintext in bytes that a connection sends before it is measured: most send little, or seldom. */
const MEASURED_BYTES = 1 << 20
/** Milliseconds in which a connection sends as much if it takes a large part of the thread's time. */
const MUCH_MS = 100

/** The encoding of a connection's messages. It is measured from when its effort starts to matter. */
export class ConnectionEncoding implements Encoding {
  /** The message with a dictionary that was sent to the peer; undefined if none was. */
  shipped: Uint8Array | undefined
  group: DictionaryGroup<Sender> | undefined
  readonly #settings: Settings
  readonly #sender: Sender
  readonly #connection: { effortChanged(): void }
  #isClosed = false
  /** Plaintext sent before the measurement, and later since `#sentSince`, in bytes. */
  #sentBytes = 0
  #sentSince = 0
  #network: NetworkMeter | undefined
  /** Whether its own effort matters: the network has made it wait, or it has sent much. */
  #isWeighty = false
  /** Chooses the effort, for this connection, for a group of them, or for all of the thread. */
  #meter: EffortMeter | ThreadEffort | undefined
  /** The effort of the thread that the connection was told last. */
  #threadEffort: number | undefined

  constructor(sender: Sender, settings: Settings, connection: { effortChanged(): void }) {
    this.#settings = settings
    this.#sender = sender
    this.#connection = connection
  }

  get common(): Sender {
    return this.#sender.common
  }

  get sender(): Sender {
    return this.group?.sender ?? this.common
  }

  get network(): NetworkMeter {
    return this.#network ?? this.#measure()
  }

  #measure(): NetworkMeter {
    const network = new NetworkMeter()
    network.sender = this.#connection
    this.#network = network
    return network
  }

  get effort(): number {
    // A chunk for several connections is encoded by the effort of the first one.
    const meter = this.#meter ?? knownGroupMeter(this.sender)
    if (meter === threadEffort) return this.#threadEffort ?? this.#settings.effort
    return (meter as EffortMeter | undefined)?.effort ?? this.#settings.effort
  }

  nextEffort(group?: readonly Measured[], sender?: Sender): number {
    const { adaptive, effort } = this.#settings
    if (!adaptive) return effort
    if (group && this.#isOf(group, sender ?? this.sender)) {
      if (this.#network)
        return this.#useMeter(groupMeter(sender ?? this.sender, group, this.#efforts))
      this.#meter = undefined
      return effort
    }
    if (this.#isWeighty) {
      const isOwn = this.#meter !== undefined && this.#meter !== threadEffort
      return this.#useMeter(
        isOwn ? (this.#meter as EffortMeter) : new EffortMeter([this.network], this.#efforts),
      )
    }
    this.#meter = threadEffort
    const previous = this.#threadEffort
    const next = threadEffort.compresses
      ? (this.#efforts.all[this.#efforts.usual] as number)
      : NO_EFFORT
    this.#threadEffort = next
    if (previous !== undefined && previous !== next) this.#connection.effortChanged()
    return next
  }

  get #efforts(): Efforts {
    return loadFormatSync(this.#settings.format).efforts
  }

  /** Returns whether the connection shares the effort of a group. */
  #isOf(group: readonly Measured[], sender: Sender): boolean {
    if (group.length > 1) return true
    // The last connection of a group must not go on with the group's measurements.
    const known = knownGroupMeter(sender)
    return known !== undefined && this.#meter === known
  }

  #useMeter(meter: EffortMeter): number {
    this.#meter = meter
    return meter.next()
  }

  encoded({ plainBytes, wireBytes }: Chunk, effort: number, begunAt: number): void {
    this.#meter?.encoded(effort, plainBytes, wireBytes, begunAt)
  }

  get trains(): boolean {
    return this.#settings.training !== undefined && this.effort !== NO_EFFORT && !this.#isClosed
  }

  sampled(
    recipients: readonly Recipient<Sender>[],
    frames: Uint8Array,
    message?: readonly Uint8Array[],
  ): void {
    this.#train((dictionaries) => dictionaries.wrote(recipients, frames, message))
  }

  /** As `sampled`, for a write that other connections may make later. `write` is its number. */
  sampledAlone(write: number, frames: Uint8Array): void {
    this.#train((dictionaries) => dictionaries.joined(write, this, frames))
  }

  /** Trains, unless memory runs out: the messages are encoded already, and are sent in any case. */
  #train(train: (dictionaries: DictionaryGroups<Sender>) => void): void {
    try {
      const { dictionaries } = this.#sender
      if (dictionaries) train(dictionaries)
    } catch (error) {
      if (!(error instanceof RangeError)) throw error
    }
  }

  /** Whether writes are measured. */
  get isMeasured(): boolean {
    return this.#network !== undefined
  }

  /**
   * Records a write that began at `begunAt` (0 if writes are not measured yet), and whether the network
   * had no room for all of it.
   */
  wrote({ plainBytes, wireBytes }: Chunk, begunAt: number, isBlocked: boolean): void {
    const network = this.#network
    network?.wrote(plainBytes, wireBytes, begunAt, isBlocked)
    if (this.#isWeighty || !this.#settings.adaptive) return
    if (begunAt - this.#sentSince > MUCH_MS) {
      this.#sentSince = begunAt
      this.#sentBytes = 0
    }
    this.#sentBytes += plainBytes
    const isMuch = this.#sentBytes > MEASURED_BYTES
    this.#isWeighty = isBlocked || (isMuch && network !== undefined)
    if (!network && (isBlocked || isMuch)) this.#measure()
  }

  /** Records that the network has taken all that was written. */
  drained(): void {
    this.#network?.drained()
    if (this.#meter?.isAlone) this.#meter.drained()
  }

  /** Ends the measurement. The meter of a group may still refer to the network. */
  close(): void {
    this.#isClosed = true
    if (this.#settings.training) this.#sender.recipientEnded(this)
    if (this.#network) this.#network.sender = undefined
  }
}
