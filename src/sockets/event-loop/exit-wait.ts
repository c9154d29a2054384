import { clockMs } from "../../base/runtime.js"
import { DepartureCells } from "../../thread/departure-cells.js"
import { openRequest } from "../../thread/open-request.js"
import { Thread } from "../../thread/thread.js"
import type { Departing, DepartingThread, Departure, DialSpec } from "../../transport/transport.js"

/** Milliseconds without progress after which the process no longer waits for its peers. */
const SILENCE_MS = 1000
/** Milliseconds that threads may take to start, and that the process waits at most from then on. */
const START_MAX_MS = 30_000
const WAIT_MAX_MS = 5000
/** Milliseconds between writes to connections without room, and between readings of the clock. */
const WRITE_MS = 1
const POLL_MS = 20

/** Ignores the events of an endpoint that only delivers messages. */
const nobody = { onEvent(): void {}, threadDied(): void {} }

/** Writes the remaining messages of a process whose event loop has stopped. */
export class BlockingDeparture implements Departure {
  #connections: Departing[] = []
  readonly #threads = new Set<DepartingThread>()
  /** The thread that makes connections in place of the event loop. */
  #own: Thread | undefined

  add(connection: Departing): void {
    this.#connections.push(connection)
  }

  addThread(thread: DepartingThread): void {
    this.#threads.add(thread)
  }

  deliver(spec: DialSpec, frames: Uint8Array[]): void {
    this.#own ??= new Thread(() => {})
    const number = this.#own.add(nobody)
    this.#own.post(openRequest(number, { ...spec, credit: 0 }))
    this.#own.post({ type: "dial", endpoint: number })
    this.#own.post({ type: "deliver", endpoint: number, frames })
    this.addThread(this.#own)
  }

  /** Waits until everything is written, at most `limitMs`. Stops early if no peer accepts any more. */
  wait(limitMs: number, warning: { afterMs: number; warn(): void }): void {
    const cells = DepartureCells.forThreads(this.#threads.size)
    let place = 0
    for (const thread of this.#threads) thread.depart(cells.cells, place++)
    let begunMs = clockMs()
    let previousMs = begunMs
    // Of these, a step counts as one poll at most: the whole machine may have been stopped meanwhile.
    let startedMs = 0
    let waitedMs = 0
    let silentMs = 0
    let latest: number | undefined
    let isWarned = false
    for (;;) {
      const { changes } = cells
      const remaining = this.#remaining(cells)
      if (remaining === 0) return
      const nowMs = clockMs()
      const stepMs = Math.min(nowMs - previousMs, POLL_MS)
      previousMs = nowMs
      // The start of a thread does not count against `linger`.
      if (remaining === undefined) {
        begunMs = nowMs
        startedMs += stepMs
      } else waitedMs += stepMs
      // Peers are not silent while threads are computing or waiting for a processor.
      const hadTurns = cells.haveCounted(this.#threads.size)
      if (remaining === undefined || remaining !== latest) silentMs = 0
      else if (hadTurns) silentMs += stepMs
      latest = remaining
      if (nowMs - begunMs >= limitMs || silentMs >= SILENCE_MS) return
      if (startedMs >= START_MAX_MS || waitedMs >= WAIT_MAX_MS) return
      if (nowMs - begunMs >= warning.afterMs && !isWarned) {
        isWarned = true
        warning.warn()
      }
      cells.sleep(changes, this.#connections.length > 0 ? WRITE_MS : POLL_MS)
    }
  }

  /** Writes what there is room for. Returns what is left; undefined if a thread has not counted yet. */
  #remaining(cells: DepartureCells): number | undefined {
    let remaining: number | undefined = 0
    this.#connections = this.#connections.filter((connection) => {
      const bytes = connection.writeOn()
      remaining = (remaining as number) + bytes
      return bytes > 0
    })
    for (let place = 0; place < this.#threads.size; place++) {
      const there = cells.remainingAt(place)
      remaining = remaining === undefined || there === undefined ? undefined : remaining + there
    }
    return remaining
  }
}
