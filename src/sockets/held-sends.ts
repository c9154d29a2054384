import { Queue } from "../base/queue.js"
import { clockMs } from "../base/runtime.js"
import { partDetached } from "../codec/errors.js"
import { bodyOf } from "../codec/formed-part.js"
import type { Message } from "../patterns/message.js"
import type { Routing } from "../patterns/socket-type.js"
import type { Deadline } from "../transport/deadline.js"
import { afterPoll } from "../transport/last-poll.js"
import { copySmallParts } from "./message.js"

/** A call that waits for room or a message, for a turn of the event loop, or for a poll. */
export interface PendingCall<T> {
  readonly resolve: (value: T) => void
  readonly reject: (error: Error) => void
  limit: Deadline | undefined
  /** Whether there is room or a message, and the call only waits for a turn of the event loop. */
  isBehind: boolean
}

export interface PendingSend extends PendingCall<void> {
  readonly message: Message
  readonly routing: Routing
  /** Whether there is room, and the call only waits until the event loop has polled. */
  awaitsPoll: boolean
}

interface HeldSend extends PendingSend {
  /** Its size. Large parts are in the program's memory, which may be detached meanwhile. */
  readonly bytes: number
  /** Milliseconds that it may wait for room, from `sinceMs` on; -1 is no limit. */
  readonly timeoutMs: number
  readonly sinceMs: number
}

/**
 * Messages that wait, in order, until the event loop has polled, because what is known of the
 * connections is old. If one finds no room then, it becomes the pending call, and the others wait behind
 * it.
 */
export class HeldSends {
  readonly #queue = new Queue<HeldSend>()
  readonly #makePending: (held: PendingSend, leftMs: number) => boolean
  readonly #send: (held: PendingSend) => void
  /** Callbacks for when no message is held any more. */
  #waiters: (() => void)[] = []
  /** Whether the messages wait for a poll, and not behind a pending call. */
  #awaitsPoll = false

  /** @param makePending makes a message that finds no room the pending call; returns whether it did. */
  constructor(
    makePending: (held: PendingSend, leftMs: number) => boolean,
    send: (held: PendingSend) => void,
  ) {
    this.#makePending = makePending
    this.#send = send
  }

  get length(): number {
    return this.#queue.length
  }

  add(message: Message, routing: Routing, timeoutMs: number): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#queue.push({
        message: copySmallParts(message),
        bytes: bytesOf(message),
        routing,
        resolve,
        reject,
        limit: undefined,
        isBehind: false,
        awaitsPoll: false,
        timeoutMs,
        sinceMs: clockMs(),
      })
    })
  }

  /** Calls back after the next poll, unless a callback waits for one. */
  sendAfterPoll(callback: () => void): void {
    if (this.#awaitsPoll) return
    this.#awaitsPoll = true
    afterPoll(callback)
  }

  /** Sends the messages up to the first that has to wait for room. */
  sendAll(): void {
    this.#awaitsPoll = false
    for (let next = this.#queue.shift(); next; next = this.#queue.shift()) {
      const leftMs =
        next.timeoutMs < 0 ? -1 : Math.max(0, next.sinceMs + next.timeoutMs - clockMs())
      if (leftMs !== 0 && this.#makePending(next, leftMs)) return
      if (bytesOf(next.message) === next.bytes) this.#send(next)
      else next.reject(partDetached(next.bytes))
    }
    const waiters = this.#waiters
    this.#waiters = []
    for (const notify of waiters) notify()
  }

  /** Whether the messages, or callbacks, waited behind a pending call only. */
  get isDue(): boolean {
    return !this.#awaitsPoll && (this.length > 0 || this.#waiters.length > 0)
  }

  /** Resolves once the messages that wait for a poll have been sent, or wait for room. */
  polled(): Promise<void> {
    return this.#awaitsPoll ? new Promise(afterPoll) : Promise.resolve()
  }

  /** Calls back once no message is held any more, but sent or refused. */
  afterAll(callback: () => void): void {
    if (this.length === 0) callback()
    else this.#waiters.push(callback)
  }
}

function bytesOf(message: Message): number {
  let bytes = 0
  for (const part of message) bytes += bodyOf(part).length
  return bytes
}
