import type { Event, Observer } from "zeromq"
import { zmqError } from "../transport/zmq-error.js"
import { Hold } from "./event-loop/hold.js"

/**
 * Maximum number of queued events: libzmq's monitor and its observer have high-water marks of 1000 each.
 * Where libzmq would block, further events are dropped.
 */
const EVENTS_MAX = 2000

interface PendingReceive {
  resolve(event: Event): void
  reject(error: unknown): void
}

/**
 * Makes an observer of zeromq.js receive the events of `lz4+tcp://` endpoints as well, which
 * endpoints/endpoint.ts emits. libzmq is not asked for events as long as it has no endpoints.
 */
export class Monitor {
  readonly #observer: Observer
  readonly #receiveNative: () => Promise<Event>
  readonly #hold = new Hold()
  readonly #events: Event[] = []
  /** The pending call for the next event. */
  #waiting: PendingReceive | undefined
  #nativeReceiving = false
  /** Whether libzmq has events, or will have. */
  #usesNative: boolean

  constructor(observer: Observer, native: boolean) {
    this.#observer = observer
    this.#usesNative = native
    this.#receiveNative = observer.receive.bind(observer)
    const close = observer.close.bind(observer)
    const own = (name: string, value: unknown) =>
      Object.defineProperty(observer, name, { configurable: true, value }) // on() replaces "receive"
    own("receive", (...args: []) => this.#receive(args))
    own("close", (...args: []) => {
      this.useNative()
      close(...args)
      this.#events.length = 0
    })
  }

  emit(event: Event): void {
    if (!this.#observer.closed) this.#pass(event)
  }

  /** Passes an event to the pending call, or queues it. */
  #pass(event: Event): void {
    const waiting = this.#endWait()
    if (waiting) waiting.resolve(event)
    else if (event && this.#events.length < EVENTS_MAX) this.#events.push(event)
  }

  /** Asks libzmq from now on: it has an endpoint, or an event for the end of the socket. */
  useNative(): void {
    this.#usesNative = true
    if (this.#waiting) this.#listen()
  }

  #receive(args: []): Promise<Event> {
    const event = this.#events.shift()
    if (event && args.length === 0 && !this.#waiting) return Promise.resolve(event)
    if (this.#observer.closed || args.length > 0) return this.#receiveNative(...args)
    if (this.#waiting)
      throw zmqError(
        "EBUSY",
        undefined,
        "Observer is busy reading; only one receive operation may be in progress at any time",
      )
    return new Promise((resolve, reject) => {
      this.#waiting = { resolve, reject }
      this.#hold.ref()
      if (this.#usesNative) this.#listen()
    })
  }

  #listen(): void {
    if (this.#nativeReceiving) return
    this.#nativeReceiving = true
    this.#receiveNative().then(
      (event) => {
        this.#nativeReceiving = false
        this.#pass(event)
      },
      (error) => {
        this.#nativeReceiving = false
        this.#endWait()?.reject(error)
      },
    )
  }

  #endWait(): PendingReceive | undefined {
    const waiting = this.#waiting
    if (waiting) this.#hold.unref()
    this.#waiting = undefined
    return waiting
  }
}
