import type { Context } from "zeromq"
import { clearTimeout, setTimeout } from "../base/runtime.js"
import { Thread } from "./thread.js"

/** Milliseconds that a thread without endpoints is kept for the next one. */
const IDLE_MS = 500

/** The threads of a context, at most `ioThreads`. */
class Pool {
  readonly #threads: Thread[] = []
  readonly #timers = new Map<Thread, NodeJS.Timeout>()

  /** Returns the thread for another endpoint: the one with the fewest. */
  thread(max: number): Thread {
    const [first] = [...this.#threads].sort((a, b) => a.users - b.users)
    if (first && (first.users === 0 || this.#threads.length >= max)) {
      clearTimeout(this.#timers.get(first))
      return first
    }
    const thread = new Thread((unused) => this.#unused(unused))
    this.#threads.push(thread)
    return thread
  }

  #unused(thread: Thread): void {
    clearTimeout(this.#timers.get(thread))
    if (thread.isDead) this.#remove(thread)
    else this.#timers.set(thread, setTimeout(() => this.#end(thread), IDLE_MS).unref())
  }

  #end(thread: Thread): void {
    if (thread.users > 0) return
    this.#remove(thread)
    thread.end()
  }

  #remove(thread: Thread): void {
    this.#timers.delete(thread)
    this.#threads.splice(this.#threads.indexOf(thread), 1)
  }
}

const pools = new WeakMap<Context, Pool>()

/** Returns a function that chooses threads for the endpoints of a context's sockets. */
export function threadsOf(context: Context): () => Thread {
  let pool = pools.get(context)
  if (!pool) {
    pool = new Pool()
    pools.set(context, pool)
  }
  const max = Math.max(1, context.ioThreads)
  const found = pool
  return () => found.thread(max)
}
