import { DICTIONARY_MAX_BYTES } from "../../codec/wire.js"
import type { Handshake, Side } from "../events.js"
import { handshakeBytes } from "./handshake.js"
import type { SharedMemory } from "./memory.js"

/** What a connection has taken of the memory that all connections share. */
export class ConnectionMemory {
  readonly #shared: SharedMemory
  readonly #handshakes: Record<Side, number> = { client: 0, server: 0 }
  readonly #dictionaries: Record<Side, number> = { client: 0, server: 0 }

  constructor(shared: SharedMemory) {
    this.#shared = shared
  }

  /**
   * Takes memory for a handshake in place of the one before. Returns false, and takes none, if too
   * little is left.
   */
  takeHandshake(from: Side, handshake: Handshake): boolean {
    const bytes = handshakeBytes(handshake)
    this.#shared.handshakes.give(this.#handshakes[from])
    const isTaken = this.#shared.handshakes.take(bytes)
    this.#handshakes[from] = isTaken ? bytes : 0
    return isTaken
  }

  /** Takes memory for the dictionary in a part of this length. Returns false if too little is left. */
  takeDictionary(from: Side, partBytes: number): boolean {
    // Further ones are refused.
    if (this.#dictionaries[from] > 0) return true
    // The decoder and the connection keep a copy each.
    const bytes = 2 * Math.min(partBytes, DICTIONARY_MAX_BYTES)
    const isTaken = this.#shared.dictionaries.take(bytes)
    if (isTaken) this.#dictionaries[from] = bytes
    return isTaken
  }

  giveBack(): void {
    for (const side of ["client", "server"] as const) {
      this.#shared.handshakes.give(this.#handshakes[side])
      this.#shared.dictionaries.give(this.#dictionaries[side])
      this.#handshakes[side] = this.#dictionaries[side] = 0
    }
  }
}
