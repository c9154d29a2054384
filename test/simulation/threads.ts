/** Simulates node:worker_threads: posted values are copied as Node does it, and arrive after a while. */
import { EventEmitter } from "node:events"
import type { Random } from "./random.js"
import type { EventLoop, World } from "./world.js"

/** Copies a posted value: shared memory stays shared, and ports are transferred. */
function copy(value: unknown): unknown {
  if (value instanceof Port) return value
  if (Array.isArray(value)) return value.map(copy)
  if (typeof value !== "object" || value === null) return value
  if ("port" in value && value.port instanceof Port) return { ...value }
  return structuredClone(value)
}

/** One end of a channel between threads. */
export class Port extends EventEmitter {
  readonly loop: EventLoop
  readonly #random: Random
  #other: Port | undefined
  readonly #queue: unknown[] = []
  #latest = 0
  isClosed = false

  static pair(a: EventLoop, b: EventLoop, random: Random): [Port, Port] {
    const one = new Port(a, random.fork(1))
    const other = new Port(b, random.fork(2))
    one.#other = other
    other.#other = one
    return [one, other]
  }

  private constructor(loop: EventLoop, random: Random) {
    super()
    this.loop = loop
    this.#random = random
  }

  postMessage(message: unknown, transfer: readonly unknown[] = []): void {
    const other = this.#other as Port
    if (this.isClosed || other.isClosed) return
    other.#arrives(copy(message))
    const buffers = transfer.filter((one) => !(one instanceof Port))
    structuredClone(undefined, { transfer: buffers as ArrayBuffer[] }) // which detaches them
  }

  #arrives(message: unknown): void {
    const { world } = this.loop
    const afterMs = this.#random.chance(0.1) ? 2 : 0.02
    this.#latest = Math.max(this.#latest, world.now + this.#random.fraction() * afterMs)
    this.#queue.push(message)
    this.loop.postAt(() => this.#deliver(), this.#latest)
  }

  #deliver(): void {
    if (this.isClosed || this.#queue.length === 0) return
    if (this.listenerCount("message") === 0) {
      // Its thread has not started yet.
      this.loop.post(() => this.#deliver(), 0.1)
      return
    }
    const message = this.#queue.shift()
    this.loop.world.log(30, this.#queue.length, () => `${this.loop.name} has a message`)
    this.emit("message", message)
  }

  /** Takes a posted message before it is delivered. */
  receive(): { message: unknown } | undefined {
    return this.#queue.length === 0 ? undefined : { message: this.#queue.shift() }
  }

  ref(): void {}
  unref(): void {}

  close(): void {
    this.isClosed = true
  }
}

/** Starts a thread, in which the code of the worker is evaluated. */
export type StartThread = (loop: EventLoop, parentPort: Port, workerData: unknown) => void

/** Returns node:worker_threads for the code of a process. */
export function threadsModule(
  world: World,
  main: EventLoop,
  random: Random,
  start: StartThread,
  ended: (loop: EventLoop) => void,
): { module: object; killAll: () => void } {
  let workers = 0
  const live = new Set<Worker>()

  class Worker extends EventEmitter {
    readonly #loop: EventLoop
    readonly #port: Port
    #isOver = false

    constructor(_file: unknown, options: { workerData: unknown }) {
      super()
      const number = ++workers
      live.add(this)
      const loop = world.addLoop(`${main.name}.${number}`, random.fork(number))
      this.#loop = loop
      const [port, parentPort] = Port.pair(main, loop, random.fork(100 + number))
      this.#port = port
      port.on("message", (message) => this.emit("message", message))
      loop.post(() => start(loop, parentPort, options.workerData), random.fraction())
    }

    postMessage(message: unknown, transfer: readonly unknown[]): void {
      this.#port.postMessage(message, transfer)
    }

    unref(): void {}
    ref(): void {}

    terminate(): Promise<number> {
      this.#end()
      return Promise.resolve(1)
    }

    /** Ends the thread as an uncaught error would. */
    die(): void {
      this.#end()
      main.post(() => this.emit("error", new Error("the simulation ends this thread")), 0.05)
    }

    #end(): void {
      if (this.#isOver) return
      this.#isOver = true
      live.delete(this)
      this.#port.close()
      this.#loop.isOver = true
      ended(this.#loop)
      main.post(() => this.emit("exit", 1), 0.1)
    }
  }

  const receiveMessageOnPort = (port: Port) => port.receive()
  const killAll = () => {
    for (const worker of [...live]) worker.die()
  }
  const module = {
    Worker,
    MessageChannel: channelsOf(main, random.fork(1000)),
    receiveMessageOnPort,
    parentPort: null,
    workerData: null,
  }
  return { module, killAll }
}

/**
 * Returns MessageChannel for a thread. Either end may be transferred; the thread that uses it does
 * not matter here.
 */
export function channelsOf(loop: EventLoop, random: Random): new () => object {
  return class MessageChannel {
    readonly port1: Port
    readonly port2: Port

    constructor() {
      const [port1, port2] = Port.pair(loop, loop, random)
      this.port1 = port1
      this.port2 = port2
    }
  }
}

/** Returns Atomics for a thread. Some of its calls let other threads continue in between. */
export function atomicsFor(loop: EventLoop, random: Random, share: number): object {
  const { world } = loop
  const before = () => {
    if (world.loops.length > 1 && loop.isBusy && random.chance(share))
      world.runUntil(world.now + random.fraction() * 0.2)
  }
  const wrap =
    <A extends unknown[], R>(call: (...args: A) => R) =>
    (...args: A): R => {
      before()
      const result = call(...args)
      before()
      return result
    }
  return {
    load: wrap(Atomics.load as (array: Int32Array, index: number) => number),
    store: wrap(Atomics.store as (array: Int32Array, index: number, value: number) => number),
    add: wrap(Atomics.add as (array: Int32Array, index: number, value: number) => number),
    exchange: wrap(Atomics.exchange as (array: Int32Array, index: number, value: number) => number),
    compareExchange: wrap(
      Atomics.compareExchange as (array: Int32Array, i: number, a: number, b: number) => number,
    ),
    notify: () => 0,
    /** Sleeps until the value changes, while other threads continue. */
    wait: (array: Int32Array, index: number, value: number, ms: number) => {
      const isWaiting = () => Atomics.load(array, index) === value
      world.wait(loop, world.now + ms, isWaiting)
      return isWaiting() ? "timed-out" : "ok"
    },
  }
}
