import { clearTimeout, clockMs, setTimeout } from "../base/runtime.js"
import { shorten } from "../transport/zmq-error.js"
import { Hold } from "./event-loop/hold.js"
import { busyError } from "./mistakes.js"

interface Operation<Core> {
  /** Begins with the core, or with libzmq if there is none. `timeoutMs` is -1 for no limit. */
  begin(core: Core | undefined, timeoutMs: number): Promise<unknown>
  /** The time until which it may wait. */
  limitMs: number
  resolve(value: unknown): void
  reject(error: unknown): void
  timer: NodeJS.Timeout | undefined
}

/** Calls of send() and receive() that wait for the first endpoint: libzmq's, or the socket core's. */
export class EarlyOperations<Core> {
  readonly #hold = new Hold()
  readonly #waiting = new Map<"send" | "receive", Operation<Core>>()

  isWaiting(name: "send" | "receive"): boolean {
    return this.#waiting.has(name)
  }

  wait<T>(
    name: "send" | "receive",
    timeoutMs: number,
    begin: (core: Core | undefined, timeoutMs: number) => Promise<T>,
  ): Promise<T> {
    if (this.isWaiting(name)) throw shorten(busyError(name), this.wait)
    return new Promise<unknown>((resolve, reject) => {
      const timer =
        timeoutMs > 0 ? setTimeout(() => this.#begin(name, undefined, 0), timeoutMs) : undefined
      const limitMs = timeoutMs > 0 ? clockMs() + timeoutMs : Number.POSITIVE_INFINITY
      this.#waiting.set(name, { begin, resolve, reject, timer, limitMs })
      this.#hold.ref()
    }) as Promise<T>
  }

  /** Begins all calls, because there is an endpoint now, or will never be one. */
  begin(core: Core | undefined): void {
    for (const [name, { limitMs }] of [...this.#waiting]) {
      const remainingMs = Math.max(1, Math.ceil(limitMs - clockMs()))
      this.#begin(name, core, Number.isFinite(remainingMs) ? remainingMs : -1)
    }
  }

  #begin(name: "send" | "receive", core: Core | undefined, timeoutMs: number): void {
    const operation = this.#waiting.get(name) as Operation<Core>
    this.#waiting.delete(name)
    clearTimeout(operation.timer)
    this.#hold.unref()
    operation.begin(core, timeoutMs).then(operation.resolve, operation.reject)
  }
}
