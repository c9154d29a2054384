import type { Chunk } from "../codec/chunk.js"
import type { Settings } from "../codec/options.js"
import type { Sender } from "../codec/sender.js"
import { EffortMeter, groupMeter, knownGroupMeter, type Measured } from "./effort-meter.js"
import { NetworkMeter } from "./network-meter.js"
import type { ConnectionOptions, Encoding } from "./transport.js"

/** Plaintext in bytes that a connection sends before it is measured: most send little, or seldom. */
const MEASURED_BYTES = 1 << 20

/** The encoding of a connection's messages. It is measured from when its effort starts to matter. */
export class ConnectionEncoding implements Encoding {
  dictionarySent = false
  readonly #settings: Settings
  readonly #sender: Sender
  readonly #connection: { effortChanged(): void }
  /** Plaintext sent before the measurement. */
  #unmeasuredBytes = 0
  #network: NetworkMeter | undefined
  /** Chooses the effort, for this connection or for a group of them. */
  #meter: EffortMeter | undefined

  constructor({ settings, sender }: ConnectionOptions, connection: { effortChanged(): void }) {
    this.#settings = settings
    this.#sender = sender
    this.#connection = connection
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
    const meter = this.#meter ?? knownGroupMeter(this.#sender)
    return meter?.effort ?? this.#settings.effort
  }

  applyEffort(group?: readonly Measured[]): void {
    const sender = this.#sender
    if (!this.#settings.adaptive) return
    if (!this.#network) {
      sender.effort = this.#settings.effort
      return
    }
    // The last connection of a group must not go on with the group's measurements.
    const isGrouped = this.#meter !== undefined && this.#meter === knownGroupMeter(sender)
    if (group && (group.length > 1 || isGrouped)) this.#meter = groupMeter(sender, group)
    else if (this.#meter === undefined) this.#meter = new EffortMeter([this.#network])
    sender.effort = this.#meter.next()
  }

  encoded(chunk: Chunk): void {
    this.#meter?.encoded(chunk.plainBytes, chunk.wireBytes)
  }

  /** Returns the time at which a write begins, in milliseconds; 0 if writes are not measured. */
  beginWrite(): number {
    return this.#network ? performance.now() : 0
  }

  /** Records a write that began at `begunAt`, and whether the network had no room for all of it. */
  wrote({ plainBytes, wireBytes }: Chunk, begunAt: number, isBlocked: boolean): void {
    if (this.#network) {
      this.#network.wrote(plainBytes, wireBytes, begunAt, isBlocked)
      return
    }
    this.#unmeasuredBytes += plainBytes
    if (this.#settings.adaptive && (isBlocked || this.#unmeasuredBytes > MEASURED_BYTES))
      this.#measure()
  }

  /** Records that the network has taken all that was written. */
  drained(): void {
    this.#network?.drained()
    if (this.#meter?.isAlone) this.#meter.drained()
  }

  /** Ends the measurement. The meter of a group may still refer to the network. */
  close(): void {
    if (this.#network) this.#network.sender = undefined
  }
}
