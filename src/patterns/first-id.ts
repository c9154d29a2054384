/**
 * Where the numbers that a socket gives begin: anywhere, as libzmq's do, so that what is meant for one
 * that is gone means nothing to its successor. They need not be hard to guess.
 */
export function firstId(): number {
  return Math.floor(Math.random() * 2 ** 32)
}
