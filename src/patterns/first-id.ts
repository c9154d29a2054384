/**
 * The first of the numbers that a socket gives: a random one, as in libzmq, so that messages meant for one
 * that is gone means nothing to its successor. They need not be hard to guess.
 */
export function firstId(): number {
  return Math.floor(Math.random() * 2 ** 32)
}
