/**
 * In unit tests, this stands in for src/transport/last-poll.ts: the event loop has always just polled, unless a
 * test says that it has not. Most of what they test is called without an event loop.
 */

/** What a test sets, and the callbacks that wait for a poll. */
export const loop: { isBusy: boolean; waiting: (() => void)[] } = { isBusy: false, waiting: [] }

/** Lets the event loop poll. */
export function poll(): void {
  loop.isBusy = false
  const { waiting } = loop
  loop.waiting = []
  for (const callback of waiting) callback()
}

const isOutdatedNow = (): boolean => loop.isBusy
export const isOutdated: typeof isOutdatedNow = isOutdatedNow
export const heard = (): void => {}
export const heardBytes = heard
export const handshakeBegan = heard
export const handshakeEnded = heard
export const isRecent = (): boolean => !loop.isBusy
export const mayHaveStopped = isOutdatedNow
export const addThread = heard
export const removeThread = heard

export function afterPoll(callback: () => void): void {
  loop.waiting.push(callback)
}
