import type { HostPort } from "./endpoint.js"
import type { DialSpec, ListenSpec, TransportEvent } from "./protocol.js"
import { type LinkThread, SameThread, WorkerThread } from "./thread.js"

/** How long the thread is kept when no endpoint is left, in milliseconds. */
const IDLE_MS = 1000

type Listener = (event: TransportEvent) => void

let count = 0
let current: { thread: LinkThread; own: boolean } | undefined
let idle: NodeJS.Timeout | undefined
const listeners = new Map<number, Listener>()

/** One endpoint of a socket, on the thread that links live on. */
export class TransportEndpoint {
  readonly #id = count++
  readonly #thread: LinkThread

  /**
   * @param own whether links live on a thread of their own; the first endpoint
   * decides for all. undefined takes what is there.
   * @throws Error when links live elsewhere already.
   */
  constructor(own: boolean | undefined, listener: Listener) {
    this.#thread = useThread(own)
    listeners.set(this.#id, listener)
  }

  async listen(spec: ListenSpec): Promise<HostPort> {
    try {
      return await this.#thread.listen(this.#id, spec)
    } catch (error) {
      forget(this.#id)
      throw error
    }
  }

  listenSync(spec: ListenSpec): HostPort {
    return this.#orForget(() => this.#thread.listenSync(this.#id, spec))
  }

  activate(): void {
    this.#thread.activate(this.#id)
  }

  /** On return the private path is there for libzmq to connect to. */
  dial(spec: DialSpec): void {
    this.#orForget(() => this.#thread.dial(this.#id, spec))
  }

  /** Lets the endpoint go, with `lingerMs` for what libzmq still hands over; -1 is no limit. */
  release(lingerMs: number): void {
    if (listeners.has(this.#id)) this.#thread.release(this.#id, lingerMs)
  }

  #orForget<T>(call: () => T): T {
    try {
      return call()
    } catch (error) {
      forget(this.#id)
      throw error
    }
  }
}

/** Keeps the process alive until every endpoint that was released is gone. */
export function holdUntilReleased(): void {
  if (listeners.size > 0) current?.thread.hold(true)
}

function useThread(own: boolean | undefined): LinkThread {
  clearTimeout(idle)
  if (current && own !== undefined && own !== current.own)
    throw new Error(
      `thread: ${own} comes too late: the links of this process live on ${current.own ? "a" : "no"} thread of their own already`,
    )
  current ??= startThread(own ?? process.env.ZEROMQ_LZ4_THREAD !== "0")
  return current.thread
}

function startThread(own: boolean): { thread: LinkThread; own: boolean } {
  const emit = (event: TransportEvent) => {
    listeners.get(event.endpoint)?.(event)
    if (event.type === "released") forget(event.endpoint)
  }
  return { thread: own ? new WorkerThread(emit, lost) : new SameThread(emit), own }
}

/** The thread is gone, with all endpoints; the next one starts another. */
function lost(): void {
  listeners.clear()
  clearTimeout(idle)
  current = undefined
}

function forget(endpoint: number): void {
  listeners.delete(endpoint)
  if (listeners.size > 0 || !current) return
  current.thread.hold(false)
  idle = setTimeout(() => {
    current?.thread.stop()
    current = undefined
  }, IDLE_MS).unref()
}
