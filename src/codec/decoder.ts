import { allocate, copy } from "./arrays.js"
import {
  noPlaintext,
  outOfMemory,
  type ProtocolError,
  partError,
  targetTooSmall,
} from "./errors.js"
import { INPUT, type Instance, OUTPUT } from "./instance.js"
import type { Pointer } from "./module-memory.js"
import type { RefusedPart } from "./refused-part.js"
import { ArraySource, type Source } from "./source.js"
import { ALONE, ARENA, ARENA_MAX_BYTES, DICTIONARY, PLAIN, SENTINEL_BYTES, uint64 } from "./wire.js"

/** An error of the module; see zeromq_lz4.h. */
const E_NO_MEMORY = -16
const NO_BUDGET = 0xffffffff

/** Splits a budget into the two halves that the module takes; -1 is no limit. */
export function budgetHalves(budgetBytes: number): [low: number, high: number] {
  if (budgetBytes < 0) return [NO_BUDGET, NO_BUDGET]
  return uint64(budgetBytes)
}

/** The receiving half of a connection: wire parts to plaintext (RFC.md section 5.2). */
export class Decoder {
  readonly #instance: Instance
  readonly #receiver: Pointer
  readonly #budgetBytes: number

  /** Decodes for a zl_receiver, which still belongs to the caller. */
  constructor(instance: Instance, receiver: Pointer, budgetBytes: number) {
    this.#instance = instance
    this.#receiver = receiver
    this.#budgetBytes = budgetBytes
  }

  /**
   * Decodes the part at `index` of a message, at its position `place`. Returns what `split` makes of
   * the frames of an arena, which are valid during its call, and of none for a dictionary, which is
   * installed.
   */
  part<Messages>(
    wire: Source,
    place: number,
    index: number,
    split: (frames: Uint8Array) => Messages,
  ): Uint8Array | Messages {
    const head = this.#headOf(wire)
    const fail = this.#refusalOf(head, wire.length, index)
    const kind = this.#accept(this.#instance.place(INPUT, head), wire.length, place, fail)
    if (kind === ARENA) return split(this.#arena(wire, fail))
    if (kind === PLAIN) {
      wire.skip(SENTINEL_BYTES)
      return wire.rest()
    }
    if (kind === DICTIONARY) {
      wire.skip(this.#instance.format.dictionaryAt)
      this.install(wire, fail)
      return split(new Uint8Array(0))
    }
    return this.#whole(kind, wire, fail)
  }

  /**
   * Decodes a large part piece by piece. Parts of other connections may be decoded between two pieces. A
   * piece is valid until then.
   */
  *pieces(wire: Source, place: number, index: number): Generator<Uint8Array> {
    const head = this.#headOf(wire)
    const fail = this.#refusalOf(head, wire.length, index)
    const kind = this.#accept(this.#instance.place(INPUT, head), wire.length, place, fail)
    yield* this.#pieces(kind, wire, fail)
  }

  /** Returns the bytes of plaintext declared by a part that is a message of its own. */
  plainBytes(wire: Uint8Array): number {
    const head = wire.subarray(0, this.#instance.format.headBytes)
    this.#plainHead(this.#instance.place(INPUT, head), wire)
    return this.#instance.wide(this.#instance.part, 0)
  }

  /** Decodes a part that is a message of its own to `target`. Returns the bytes written. */
  partInto(wire: Uint8Array, target: Uint8Array): number {
    const instance = this.#instance
    // A plain part is copied from `wire`, and a large one is decoded in another instance.
    const whole = wire.length <= instance.partMax && wire[0] !== 0
    const input = instance.place(INPUT, whole ? wire : wire.subarray(0, instance.format.headBytes))
    const kind = this.#plainHead(input, wire)
    const plainBytes = instance.wide(instance.part, 0)
    const fail = this.#refusalOf(wire, wire.length, 0)
    if (plainBytes > target.length) throw targetTooSmall(target, plainBytes)
    if (kind === PLAIN) target.set(wire.subarray(SENTINEL_BYTES))
    else if (whole && plainBytes <= instance.partMax)
      target.set(instance.view(this.#decoded(input, wire.length, plainBytes, fail), plainBytes))
    else this.#whole(kind, new ArraySource(wire), fail, target)
    return plainBytes
  }

  /** Checks the head of a part. Returns the kind of the part. */
  #accept(head: Pointer, wireBytes: number, place: number, fail: Fail): number {
    const kind = this.#instance.exports.zl_receive_head(
      this.#receiver,
      head,
      wireBytes >>> 0, // not uint64(), which would allocate an array for each part
      Math.floor(wireBytes / 2 ** 32),
      place,
      this.#instance.part,
    )
    if (kind < 0) throw fail(kind)
    return kind
  }

  /** Returns the kind of a part that is a message of its own. Throws for dictionaries and arenas. */
  #plainHead(head: Pointer, wire: Uint8Array): number {
    const kind = this.#accept(head, wire.length, ALONE, this.#refusalOf(wire, wire.length, 0))
    if (kind === DICTIONARY) throw noPlaintext("a dictionary, which decode installs")
    if (kind === ARENA) throw noPlaintext("an arena, whose messages decode returns")
    return kind
  }

  /** Returns a function that makes errors for a part beginning with `head`. */
  #refusalOf(head: Uint8Array, wireBytes: number, part: number): Fail {
    return (status) => refusal(this.#instance, status, { head, wireBytes, part }, this.#budgetBytes)
  }

  /** Returns the plaintext of an accepted part, in `target` if there is one. */
  #whole(kind: number, wire: Source, fail: Fail, target?: Uint8Array): Uint8Array {
    const instance = this.#instance
    const plainBytes = instance.wide(instance.part, 0)
    if (plainBytes <= instance.partMax) {
      const { length } = wire
      const decoded = this.#decoded(instance.read(INPUT, wire, length), length, plainBytes, fail)
      if (!target) return instance.copy(decoded, plainBytes)
      target.set(instance.view(decoded, plainBytes))
      return target
    }
    let result = target
    let at = 0
    for (const piece of this.#pieces(kind, wire, fail)) {
      if (!result && piece.length === plainBytes) return copy(piece, 0, plainBytes)
      result ??= allocate(plainBytes)
      result.set(piece, at)
      at += piece.length
    }
    return result ?? new Uint8Array(0)
  }

  /** Decodes an accepted part that is not large. Returns the place of its plaintext in OUTPUT. */
  #decoded(source: Pointer, wireBytes: number, plainBytes: number, fail: Fail): Pointer {
    const instance = this.#instance
    const target = instance.scratch(OUTPUT, plainBytes)
    const { zl_part_decode } = instance.exports
    const status = zl_part_decode(this.#receiver, source, wireBytes, instance.part, target)
    if (status < 0) throw fail(status)
    return target
  }

  /** Decodes an accepted large part. Each piece is valid until the module is used again. */
  #pieces(kind: number, wire: Source, fail: Fail): Generator<Uint8Array> {
    const instance = this.#instance
    const plainBytes = instance.wide(instance.part, 0)
    const dictionary = instance.exports.zl_receiver_dictionary(this.#receiver)
    return instance.format.decodeLarge(instance, dictionary, { kind, plainBytes, wire }, fail)
  }

  /** Installs a dictionary of 1 to 8192 bytes. There must be none yet. */
  install(dictionary: Source, fail?: Fail): void {
    const { length } = dictionary
    const bytes = this.#instance.read(INPUT, dictionary, length)
    const { zl_receive_dictionary } = this.#instance.exports
    const status = zl_receive_dictionary(this.#receiver, bytes, length)
    if (status < 0)
      throw fail && status !== E_NO_MEMORY ? fail(status) : outOfMemory("a dictionary", length)
  }

  /** Returns the head of a part, or all of a shorter one. */
  #headOf(wire: Source): Uint8Array {
    const head = new Uint8Array(Math.min(wire.length, this.#instance.format.headBytes))
    wire.peek(head)
    return head
  }

  /** Returns the frames of an arena, until the module is used again. */
  #arena(wire: Source, fail: Fail): Uint8Array {
    const instance = this.#instance
    const { length } = wire
    const source = instance.read(INPUT, wire, length)
    const target = instance.scratch(OUTPUT, ARENA_MAX_BYTES)
    const slot = instance.exports.zl_arena_slot()
    const status = instance.exports.zl_arena_read(this.#receiver, source, length, target, slot)
    if (status < 0) throw fail(status)
    return instance.view(target, instance.word(slot, 0))
  }
}

/** A function that returns the error for a negative status. */
type Fail = (status: number) => Error

/** The fields of a refused part that the caller of the module knows. */
type Seen = Pick<RefusedPart, "head" | "wireBytes" | "part">

/** Returns the error for a part that zl_receive_head, or a later step, refused. */
export function refusal(
  instance: Instance,
  status: number,
  seen: Seen,
  budgetBytes: number,
): ProtocolError | RangeError {
  const bigint = (word: number) =>
    BigInt(instance.word(instance.part, word)) |
    (BigInt(instance.word(instance.part, word + 1)) << 32n)
  return partError(status, {
    ...seen,
    plainBytes: bigint(0),
    budgetLeft: bigint(2),
    budgetBytes,
    blockMax: instance.blockMax,
    format: instance.format,
  })
}
