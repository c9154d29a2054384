import { createHash } from "node:crypto"

/** Adds up messages, to compare those that were sent with those that arrived. */
export class Digest {
  #hash = createHash("sha256")
  #bytes = 0

  add(message) {
    for (const part of message) {
      this.#hash.update(part)
      this.#bytes += Buffer.byteLength(part)
    }
  }

  result() {
    return { hash: this.#hash.digest("hex"), bytes: this.#bytes }
  }
}
