import type { FlushWaiter } from "../patterns/flush-waiters.js"
import type { Pipe } from "../patterns/pipe.js"
import { Deadline } from "../transport/deadline.js"
import { zmqError } from "../transport/zmq-error.js"
import type { Hold } from "./event-loop/hold.js"

/**
 * Waits until the pipes have written all messages sent so far, or never will.
 *
 * @throws Error with code EAGAIN after `timeoutMs`; -1 is no limit.
 */
export function flush(
  operations: { afterSent(callback: () => void): void },
  endpoints: { readonly sendingPipes: readonly Pipe[] },
  timeoutMs: number,
  hold: Hold,
): Promise<void> {
  return new Promise((resolve, reject) => {
    let pending = 0
    const over = (settle: () => void) => {
      limit?.clear()
      hold.unref()
      waiter.isOver = true
      settle()
    }
    const waiter: FlushWaiter & { isOver: boolean } = {
      isOver: false,
      flushed: () => {
        if (--pending === 0 && !waiter.isOver) over(resolve)
      },
    }
    const timeOut = () => over(() => reject(flushTimedOut(timeoutMs)))
    const limit = timeoutMs < 0 ? undefined : new Deadline(timeoutMs, timeOut)
    hold.ref()
    operations.afterSent(() => {
      if (waiter.isOver) return
      const pipes = endpoints.sendingPipes
      pending = pipes.length
      if (pending === 0) over(resolve)
      for (const pipe of pipes) pipe.whenFlushed(waiter)
    })
  })
}

function flushTimedOut(timeoutMs: number): Error {
  const message = `flush() timed out: after ${timeoutMs} ms, messages still wait to be written`
  return zmqError("EAGAIN", undefined, message)
}
