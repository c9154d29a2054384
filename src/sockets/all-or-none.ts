import { Queue } from "../base/queue.js"
import type { Message } from "../patterns/message.js"
import type { SocketType } from "../patterns/socket-type.js"
import { zmqError } from "../transport/zmq-error.js"

interface Sending {
  readonly message: Message
  readonly resolve: () => void
  readonly reject: (error: unknown) => void
  /** Settles when libzmq has accepted or refused the message. */
  accepted: Promise<void> | undefined
}

/**
 * Sends messages of a PUB or XPUB with `noDrop` to all endpoints, libzmq's and ours, or to none, so that
 * a program may send a refused message again. Our endpoints get a message once libzmq has accepted it,
 * which takes a while. Messages sent meanwhile are queued.
 */
export class AllOrNone {
  readonly #type: SocketType
  readonly #sendNative: (message: Message) => Promise<void> | undefined
  readonly #queue = new Queue<Sending>()

  constructor(type: SocketType, sendNative: (message: Message) => Promise<void> | undefined) {
    this.#type = type
    this.#sendNative = sendNative
  }

  get isWaiting(): boolean {
    return this.#queue.length > 0
  }

  /** Queues a message, which must not be modified until the promise settles. */
  send(message: Message): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#queue.push({ message, resolve, reject, accepted: undefined })
      if (this.#queue.length === 1) this.#offerFirst()
    })
  }

  /** Offers the first queued message to libzmq, unless one of our endpoints has no room for it. */
  #offerFirst(): void {
    for (let first = this.#queue.first(); first; first = this.#queue.first()) {
      if (this.#type.hasRoomFor(first.message)) {
        const offered = first
        first.accepted = this.#offerToNative(first.message)
        first.accepted.then(
          () => this.#settle(offered),
          (error) => this.#settle(offered, error),
        )
        return
      }
      this.#queue.shift()
      first.reject(zmqError("EAGAIN"))
    }
  }

  async #offerToNative(message: Message): Promise<void> {
    await this.#sendNative(message)
  }

  #settle(sending: Sending, refusal?: unknown): void {
    if (this.#queue.first() !== sending) return // close() has already sent it
    this.#queue.shift()
    try {
      if (refusal !== undefined) throw refusal
      this.#type.send(sending.message, {})
      sending.resolve()
    } catch (error) {
      sending.reject(error)
    }
    this.#offerFirst()
  }

  /** Sends all queued messages before the socket is closed, because they cannot be sent again later. */
  close(): void {
    for (let next = this.#queue.shift(); next; next = this.#queue.shift()) {
      const { message, resolve, reject } = next
      try {
        if (this.#type.send(message, {}) !== undefined) reject(zmqError("EAGAIN"))
        else (next.accepted ?? this.#offerToNative(message)).then(resolve, reject)
      } catch (error) {
        reject(error) // an error of the encoder; the others are still sent
      }
    }
  }
}
