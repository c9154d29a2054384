/**
 * Returns the first id that a socket assigns. As in libzmq it is random, so that a message for a
 * socket that has gone is unlikely to match an id of its successor. Ids need not be hard to guess.
 */
export function firstId(): number {
  return Math.floor(Math.random() * 2 ** 32)
}
