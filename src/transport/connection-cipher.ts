import { Chunk } from "../codec/chunk.js"
import { ProtocolError } from "../codec/errors.js"
import { CipherError, type CipherReason } from "../curve/cipher.js"
import { curveOf, wipe } from "../curve/curve.js"
import { type FramesSink, Opener } from "../curve/opener.js"
import { Sealer } from "../curve/sealer.js"
import { COMMAND_MAX_BYTES } from "../zmtp/commands.js"
import type { CurveSettings, Secured } from "../zmtp/mechanism.js"
import { logKey } from "./key-log.js"

/**
 * Bytes that the form of a part can have more than its plaintext: the head of LZ4M, and an arena, a
 * dictionary or a command in its place.
 */
const FORM_EXTRA_BYTES = COMMAND_MAX_BYTES
/** Maximum number of bytes by which any format makes a part longer, as a share of it: LZ4's. */
const EXPANSION = 1 / 255

export interface Violation {
  error: ProtocolError
  reason: CipherReason
}

/** The encryption of a connection with CURVE, from the end of its handshake on. */
export class ConnectionCipher {
  readonly #sealer: Sealer
  readonly #opener: Opener
  /** Set once the peer has broken a rule. */
  violation: Violation | undefined

  /** @param budgetBytes maximum plaintext of one message; -1 is no limit. */
  constructor({ module, keyLog }: CurveSettings, secured: Secured, budgetBytes: number) {
    const { key, isServer, sent, received } = secured
    if (keyLog !== undefined) logKey(keyLog, secured)
    const maxBytes =
      budgetBytes < 0
        ? Number.POSITIVE_INFINITY
        : Math.ceil(budgetBytes * (1 + EXPANSION)) + FORM_EXTRA_BYTES
    const curve = curveOf(module)
    let sealer: Sealer | undefined
    try {
      sealer = new Sealer(curve, { key, ofServer: isServer, counter: sent })
      const theirs = { key, ofServer: !isServer, counter: received }
      this.#opener = new Opener(curve, theirs, maxBytes)
      this.#sealer = sealer
    } catch (error) {
      sealer?.close()
      throw error
    } finally {
      wipe(key)
    }
  }

  /** Seals frames in memory of their own, or the messages of a chunk, which is released then. */
  seal(item: Chunk | Uint8Array): Chunk | Uint8Array {
    return item instanceof Chunk ? this.#sealChunk(item) : this.#sealer.seal(item)
  }

  #sealChunk(chunk: Chunk): Chunk {
    const sealed = this.#sealer.sealed(chunk.arrays, chunk)
    chunk.release()
    return sealed
  }

  /**
   * Passes on the frames in received bytes, in pieces that are valid during the call of `sink` only.
   * Sets `violation` if they do not go on.
   */
  open(received: Uint8Array, sink: FramesSink): void {
    try {
      this.#opener.open(received, sink)
    } catch (error) {
      if (!(error instanceof CipherError)) throw error
      const { reason, message } = error
      this.violation = { error: new ProtocolError("ERR_ZMTP_CURVE", message), reason }
    }
  }

  close(): void {
    this.#sealer.close()
    this.#opener.close()
  }
}
