import { clearInterval, setInterval } from "../base/runtime.js"
import { pingTimeToLiveMs, writePing, writePong } from "../zmtp/commands.js"
import { Deadline } from "./deadline.js"

export interface HeartbeatOptions {
  /** Milliseconds between PINGs; 0 sends none. */
  intervalMs: number
  /**
   * Milliseconds that a peer may be silent after a PING; 0 is no limit, and -1 as many as `intervalMs`.
   */
  timeoutMs: number
  /** The time to live in each PING, in tenths of a second; 0 sends none. */
  timeToLive: number
}

export interface Beating {
  /** Whether a write would be queued. */
  readonly blocked: boolean
  send(frame: Uint8Array): void
  timedOut(): void
}

/** The heartbeat of a connection (RFC 37): sends PINGs, answers them, and times out a silent peer. */
export class Heartbeat {
  readonly #connection: Beating
  readonly #options: HeartbeatOptions
  #interval: NodeJS.Timeout | undefined
  /** The timeouts after a PING of this side, and after one of the peer's. */
  #timeout: Deadline | undefined
  #timeToLive: Deadline | undefined
  /** Whether a PING is due once the connection has room. */
  #due = false
  /** The PONG for the latest PING, kept while a peer does not read. */
  #pong: Uint8Array | undefined

  constructor(connection: Beating, options: HeartbeatOptions) {
    this.#connection = connection
    this.#options = options
    const { intervalMs } = options
    if (intervalMs > 0) this.#interval = setInterval(beat, intervalMs, this).unref()
  }

  heard(): void {
    this.#timeout?.clear()
    this.#timeToLive?.clear()
    this.#timeout = undefined
    this.#timeToLive = undefined
  }

  /**
   * Answers a PING, which may set the time within which its sender must be heard again. A peer that
   * does not read gets a single PONG once it does, however many PINGs it sent.
   */
  answer(ping: Uint8Array): void {
    const timeToLiveMs = pingTimeToLiveMs(ping)
    if (timeToLiveMs > 0) this.#timeToLive ??= new Deadline(timeToLiveMs, this.#giveUp)
    const pong = writePong(ping)
    if (this.#connection.blocked) this.#pong = pong
    else this.#connection.send(pong)
  }

  stop(): void {
    clearInterval(this.#interval)
    this.heard()
  }

  /** Sends a PING. While the connection has no room, a single later one replaces all that were due. */
  beat(): void {
    this.#due = this.#connection.blocked
    if (!this.#due) this.#ping()
  }

  /** The system has accepted what was written: the connection may have room again. */
  drained(): void {
    const pong = this.#pong
    this.#pong = undefined
    if (pong) this.#connection.send(pong)
    if (this.#due) this.beat()
  }

  readonly #giveUp = (): void => this.#connection.timedOut()

  /** Sends a PING. As in libzmq, the peer's time to answer starts when it is written. */
  #ping(): void {
    const { intervalMs, timeToLive } = this.#options
    const timeoutMs = this.#options.timeoutMs === -1 ? intervalMs : this.#options.timeoutMs
    this.#connection.send(writePing(timeToLive))
    if (timeoutMs > 0) this.#timeout ??= new Deadline(timeoutMs, this.#giveUp)
  }
}

function beat(heartbeat: Heartbeat): void {
  heartbeat.beat()
}
