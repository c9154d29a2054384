import type { Event, Observer } from "zeromq"
import { zmqError } from "../transport/zmq-error.js"
import { Hold } from "./hold.js"

/**
 * Events that may wait to be received, as many as between libzmq's monitor and its observer, each of
 * which has a high-water mark of 1000. Where libzmq would block, those that follow are dropped.
 */
const EVENTS_MAX = 2000

interface Waiting {
  resolve(event: Event): void
  reject(error: unknown): void
}

/**
 * Lets an observer of zeromq.js tell of `lz4+tcp://` endpoints, beside those of libzmq. As long as
 * there are none of those, nothing is asked of libzmq.
 */
export class Monitor {
  readonly #observer: Observer
  readonly #receiveNative: () => Promise<Event>
  readonly #hold = new Hold()
  readonly #events: Event[] = []
  /** Calls that wait for the next event. */
  #waiting: Waiting | undefined
  #nativeReceiving = false
  /** Whether libzmq has something to tell, or will have. */
  #native = false

  constructor(observer: Observer, native: boolean) {
    this.#observer = observer
    this.#native = native
    this.#receiveNative = observer.receive.bind(observer)
    const close = observer.close.bind(observer)
    const own = (name: string, value: unknown) =>
      Object.defineProperty(observer, name, { configurable: true, value }) // on() replaces "receive"
    own("receive", (...args: []) => this.#receive(args))
    own("close", (...args: []) => {
      this.useNative()
      close(...args)
    })
  }

  /** Something happened; told to whoever asks for it, if anybody may. */
  emit(event: Event): void {
    if (this.#observer.closed) return
    const waiting = this.#stopWaiting()
    if (waiting) waiting.resolve(event)
    else this.#keep(event)
  }

  /** libzmq has an endpoint, too, or the socket is being closed, which it tells. */
  useNative(): void {
    this.#native = true
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
      if (this.#native) this.#listen()
    })
  }

  #listen(): void {
    if (this.#nativeReceiving) return
    this.#nativeReceiving = true
    this.#receiveNative().then(
      (event) => {
        this.#nativeReceiving = false
        const waiting = this.#stopWaiting()
        if (waiting) waiting.resolve(event)
        else if (event) this.#keep(event)
      },
      (error) => {
        this.#nativeReceiving = false
        this.#stopWaiting()?.reject(error)
      },
    )
  }

  #keep(event: Event): void {
    if (this.#events.length < EVENTS_MAX) this.#events.push(event)
  }

  #stopWaiting(): Waiting | undefined {
    const waiting = this.#waiting
    if (waiting) this.#hold.unref()
    this.#waiting = undefined
    return waiting
  }
}
