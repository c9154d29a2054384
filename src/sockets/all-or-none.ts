import type { Message } from "../patterns/message.js"
import type { SocketType } from "../patterns/socket-type.js"
import { Queue } from "../transport/queue.js"
import { zmqError } from "../transport/zmq-error.js"

interface Sending {
  readonly message: Message
  readonly resolve: () => void
  readonly reject: (error: unknown) => void
  /** Tells whether libzmq took the message, once it was offered. */
  taken: Promise<void> | undefined
}

/**
 * Sends messages of a PUB or XPUB with `noDrop` to libzmq's endpoints and the others: to all or to
 * none, so that a program may try again what was refused. libzmq tells in a promise whether it took a
 * message. Only then do the others get it, and what is sent meanwhile waits in line.
 */
export class AllOrNone {
  readonly #type: SocketType
  readonly #sendNative: (message: Message) => Promise<void> | undefined
  readonly #line = new Queue<Sending>()

  constructor(type: SocketType, sendNative: (message: Message) => Promise<void> | undefined) {
    this.#type = type
    this.#sendNative = sendNative
  }

  /** Whether messages wait in line. */
  get isWaiting(): boolean {
    return this.#line.length > 0
  }

  /** Sends a message, which is kept until then. Rejects with the code EAGAIN if some have no room. */
  send(message: Message): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#line.push({ message, resolve, reject, taken: undefined })
      if (this.#line.length === 1) this.#offer()
    })
  }

  /** Offers the first in line to libzmq, unless others have no room for it. */
  #offer(): void {
    for (let first = this.#line.first(); first; first = this.#line.first()) {
      if (this.#type.hasRoomFor(first.message)) {
        const offered = first
        first.taken = this.#offerNative(first.message)
        first.taken.then(
          () => this.#settle(offered),
          (error) => this.#settle(offered, error),
        )
        return
      }
      this.#line.shift()
      first.reject(zmqError("EAGAIN"))
    }
  }

  async #offerNative(message: Message): Promise<void> {
    await this.#sendNative(message)
  }

  #settle(sending: Sending, refusal?: unknown): void {
    if (this.#line.first() !== sending) return // it left when the socket was closed
    this.#line.shift()
    if (refusal === undefined) this.#sendOwn(sending)
    else sending.reject(refusal)
    this.#offer()
  }

  #sendOwn({ message, resolve, reject }: Sending): void {
    try {
      this.#type.send(message, {})
      resolve()
    } catch (error) {
      reject(error)
    }
  }

  /** Sends all that is in line before the socket is closed: nothing can be tried again. */
  close(): void {
    for (let next = this.#line.shift(); next; next = this.#line.shift()) {
      const { message, resolve, reject } = next
      try {
        if (this.#type.send(message, {}) !== undefined) reject(zmqError("EAGAIN"))
        else (next.taken ?? this.#offerNative(message)).then(resolve, reject)
      } catch (error) {
        reject(error) // of the encoder; the others still leave
      }
    }
  }
}
