/** The secrets of a thread with CURVE, as far as checkers have to know them. */
import type { Random } from "./random.js"

const KEY_BYTES = 32

export interface Secret {
  /** Where the code under test has it, which it has to overwrite. */
  readonly place: Uint8Array
  /** What it was. */
  readonly value: Uint8Array
}

export class Secrets {
  readonly #random: Random
  readonly all: Secret[] = []
  /** The memory of the module of CURVE, once there is one. */
  memory: WebAssembly.Memory | undefined

  constructor(random: Random) {
    this.#random = random
  }

  /** Fills an array with random bytes, as node:crypto does. Those of a key's size are secret keys. */
  fill(bytes: Uint8Array): Uint8Array {
    for (let i = 0; i < bytes.length; i++) bytes[i] = this.#random.below(256)
    if (bytes.length === KEY_BYTES) this.add(bytes)
    return bytes
  }

  add(place: Uint8Array): void {
    this.all.push({ place, value: Uint8Array.from(place) })
  }

  /** Returns what is wrong if any secret is still there; otherwise undefined. */
  left(): string | undefined {
    const kept = this.all.filter(({ place }) => place.some((byte) => byte !== 0))
    if (kept.length > 0) return `${kept.length} of ${this.all.length} secrets are not wiped`
    return this.memory && this.#isIn(this.memory) ? "a secret is in WebAssembly" : undefined
  }

  /** Returns whether memory has a secret, at a multiple of 4 bytes as all have that C keeps. */
  #isIn({ buffer }: WebAssembly.Memory): boolean {
    const memory = Buffer.from(buffer)
    const words = new Uint32Array(buffer)
    const byWord = new Map(
      this.all.map(({ value }) => [new Uint32Array(value.buffer)[0] as number, value]),
    )
    return words.some((word, at) => {
      const value = word === 0 ? undefined : byWord.get(word)
      return value !== undefined && memory.subarray(4 * at, 4 * at + KEY_BYTES).equals(value)
    })
  }
}
