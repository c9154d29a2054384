// Not the global of this name, which may be missing, or another one, as in jsdom.
import { webcrypto } from "node:crypto"

/**
 * Returns a random id of 32 bits. A peer cannot guess the ids of others from those that it has seen,
 * so it can neither take one before it is assigned nor address a peer that it was not told of.
 */
export function randomId(): number {
  return webcrypto.getRandomValues(new Uint32Array(1))[0] as number
}
