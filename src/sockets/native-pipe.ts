import { clearInterval, setInterval, setTimeout } from "../base/runtime.js"
import type { Message } from "../patterns/message.js"
import type { Routing } from "../patterns/socket-type.js"
import { plainMessage } from "../zmtp/part.js"
import type { Received } from "./message.js"

/** Milliseconds after which libzmq's receive() ends, as a pending one cannot be cancelled. */
export const NATIVE_RECEIVE_MS = 50
/** Milliseconds after which libzmq is asked again whether it has room. */
const POLL_MS = 10

/** libzmq's endpoints of a socket. */
export interface NativeSocket {
  readonly isClosed: boolean
  readonly readable: boolean
  readonly writable: boolean
  /** The number of peers; undefined if libzmq does not tell. */
  readonly peers: number | undefined
  send(message: Message, routing: Routing): Promise<void>
  receive(): Promise<Received>
}

export interface NativePipeEvents {
  readable(): void
  writable(): void
  /** Returns whether a message may be received from libzmq now. */
  mayReceive(): boolean
  /** Returns whether a message of libzmq is passed to the program. */
  accepts(message: Received): boolean
}

/**
 * libzmq's endpoints of a socket that also has `lz4+tcp://` endpoints. One message is received ahead,
 * because libzmq passes messages to pending calls of receive() only.
 */
export class NativePipe {
  readonly #socket: NativeSocket
  readonly #events: NativePipeEvents
  #received: Received | undefined
  #isReceiving = false
  #isWanted = false
  #poll: NodeJS.Timeout | undefined

  constructor(socket: NativeSocket, events: NativePipeEvents) {
    this.#socket = socket
    this.#events = events
  }

  // -- Receiving -------------------------------------------------------------------

  hasIn(): boolean {
    return this.#received !== undefined
  }

  /** Whether there is a message, perhaps one that libzmq has yet to hand over. */
  get isReadable(): boolean {
    return this.hasIn() || this.#socket.readable
  }

  read(): Received | undefined {
    const received = this.#received
    this.#received = undefined
    return received
  }

  /** Receives from libzmq while `wanted`: while a receive() of the program is pending. */
  wantIn(wanted: boolean): void {
    this.#isWanted = wanted
    this.listen()
  }

  listen(): void {
    if (this.#isWanted) this.fetch()
  }

  /** Begins to receive one message from libzmq, if it may and there is none yet. */
  fetch(): void {
    if (this.#isReceiving || this.hasIn() || !this.#events.mayReceive()) return
    if (this.#socket.isClosed) return
    this.#isReceiving = true
    receiveFrom(this.#socket).then(
      (message) => {
        this.#isReceiving = false
        if (this.#events.accepts(message)) {
          this.#received = message
          this.#events.readable()
        } else this.listen()
      },
      () => {
        // The call has timed out.
        this.#isReceiving = false
        this.listen()
      },
    )
  }

  // -- Sending ---------------------------------------------------------------------

  hasOut(): boolean {
    return this.#socket.writable
  }

  get peers(): number | undefined {
    return this.#socket.peers
  }

  /** Sends a message, which must not be modified until the promise settles. */
  write(message: Message, routing: Routing): Promise<void> | undefined {
    return this.#socket.isClosed ? undefined : this.#socket.send(plainMessage(message), routing)
  }

  /** Polls libzmq for room while `wanted`, because libzmq does not report it. */
  wantOut(wanted: boolean): void {
    clearInterval(this.#poll)
    this.#poll = undefined
    if (wanted)
      this.#poll = setInterval(() => {
        if (this.hasOut()) this.#events.writable()
      }, POLL_MS).unref()
  }
}

/** Receives from libzmq. Rejects after the timeout. */
async function receiveFrom(socket: NativeSocket): Promise<Received> {
  try {
    return await socket.receive()
  } catch (error) {
    // An earlier receive() of the program, from before there was a socket core, is still pending.
    if ((error as { code?: string }).code === "EBUSY")
      await new Promise((resolve) => setTimeout(resolve, NATIVE_RECEIVE_MS))
    throw error
  }
}
