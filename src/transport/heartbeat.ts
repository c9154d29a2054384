import { writePing } from "../zmtp/commands.js"

/** As the options of a socket have it, in milliseconds. */
export interface HeartbeatOptions {
  /** Between PINGs; 0 sends none. */
  intervalMs: number
  /** Milliseconds that a peer may be silent after a PING. */
  timeoutMs: number
  /** The time to live sent in a PING, in tenths of a second; 0 sends none. */
  timeToLive: number
}

/** The connection that is kept alive. */
export interface Beating {
  /** Whether what is sent now would have to wait. */
  readonly blocked: boolean
  send(frame: Uint8Array): void
  timedOut(): void
}

/** PINGs of a connection, and the times within which something has to be heard (RFC 37). */
export class Heartbeat {
  readonly #connection: Beating
  readonly #options: HeartbeatOptions
  #interval: NodeJS.Timeout | undefined
  /** Since a PING of this side, and since one of the peer's. */
  #timeout: NodeJS.Timeout | undefined
  #timeToLive: NodeJS.Timeout | undefined
  /** Whether a PING waits until the connection has room. */
  #due = false

  constructor(connection: Beating, options: HeartbeatOptions) {
    this.#connection = connection
    this.#options = options
    const { intervalMs } = options
    if (intervalMs > 0) this.#interval = setInterval(beat, intervalMs, this).unref()
  }

  /** Something came from the peer. */
  heard(): void {
    if (this.#timeout) clearTimeout(this.#timeout)
    if (this.#timeToLive) clearTimeout(this.#timeToLive)
    this.#timeout = undefined
    this.#timeToLive = undefined
  }

  /** The peer has said how long it may be silent. */
  mustHearWithin(ms: number): void {
    this.#timeToLive ??= setTimeout(giveUp, ms, this.#connection).unref()
  }

  stop(): void {
    clearInterval(this.#interval)
    this.heard()
  }

  /** Sends a PING, or one later in place of all that were due while the connection had no room. */
  beat(): void {
    this.#due = this.#connection.blocked
    if (!this.#due) this.#ping()
  }

  /** The connection has room again. */
  drained(): void {
    if (this.#due) this.beat()
  }

  /** As with libzmq, a peer has time to answer from when the PING leaves. */
  #ping(): void {
    const { timeoutMs, timeToLive } = this.#options
    this.#connection.send(writePing(timeToLive))
    if (timeoutMs > 0) this.#timeout ??= setTimeout(giveUp, timeoutMs, this.#connection).unref()
  }
}

function beat(heartbeat: Heartbeat): void {
  heartbeat.beat()
}

function giveUp(connection: Beating): void {
  connection.timedOut()
}
