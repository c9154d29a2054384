import type { TransportEvent } from "./protocol.js"
import { type LinkThread, SameThread, WorkerThread } from "./thread.js"

/** How long a thread is kept when it has no endpoint left, in milliseconds. */
const IDLE_MS = 1000

export type EndpointListener = (event: TransportEvent) => void

/** A thread that links live on, and who hears of the endpoints there. */
export class PooledThread {
  readonly thread: LinkThread
  readonly own: boolean
  readonly #listeners = new Map<number, EndpointListener>()
  #idle: NodeJS.Timeout | undefined

  constructor(own: boolean) {
    const emit = (event: TransportEvent) => {
      this.#listeners.get(event.endpoint)?.(event)
      if (event.type === "released") this.forget(event.endpoint)
    }
    this.own = own
    this.thread = own ? new WorkerThread(emit, () => this.#leavePool()) : new SameThread(emit)
  }

  get endpoints(): number {
    return this.#listeners.size
  }

  has(endpoint: number): boolean {
    return this.#listeners.has(endpoint)
  }

  add(endpoint: number, listener: EndpointListener): void {
    clearTimeout(this.#idle)
    this.#listeners.set(endpoint, listener)
  }

  forget(endpoint: number): void {
    this.#listeners.delete(endpoint)
    if (this.endpoints > 0) return
    this.thread.hold(false)
    clearTimeout(this.#idle)
    this.#idle = setTimeout(() => {
      this.thread.stop()
      this.#leavePool()
    }, IDLE_MS).unref()
  }

  /** The thread is gone, with its endpoints. */
  #leavePool(): void {
    this.#listeners.clear()
    clearTimeout(this.#idle)
    pool = pool.filter((other) => other !== this)
  }
}

let pool: readonly PooledThread[] = []

/**
 * The thread for one more endpoint: that with the fewest, or a new one as long as
 * there are fewer than `limit`.
 *
 * @param own whether links live on threads of their own; the first endpoint decides
 * for all. undefined takes what is there.
 * @throws Error when links live elsewhere already.
 */
export function chooseThread(own: boolean | undefined, limit: number): PooledThread {
  const [first] = pool
  if (first && own !== undefined && own !== first.own)
    throw new Error(
      `thread: ${own} comes too late: the links of this process live on ${first.own ? "a" : "no"} thread of their own already`,
    )
  const [least] = pool.slice(0, limit).sort((a, b) => a.endpoints - b.endpoints)
  if (least && (least.endpoints === 0 || !least.own || pool.length >= limit)) return least
  const added = new PooledThread(first?.own ?? own ?? process.env.ZEROMQ_LZ4_THREAD !== "0")
  pool = [...pool, added]
  return added
}

/** Keeps the process alive until every endpoint that was released is gone. */
export function holdUntilReleased(): void {
  for (const { thread, endpoints } of pool) if (endpoints > 0) thread.hold(true)
}
