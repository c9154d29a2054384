import { allocate, copy } from "./arrays.js"
import {
  noPlaintext,
  outOfMemory,
  type ProtocolError,
  partError,
  type RefusedPart,
  targetTooSmall,
} from "./errors.js"
import { INPUT, type Instance, OUTPUT } from "./instance.js"
import { withLargeInstance } from "./large.js"
import { NULL, type Pointer } from "./module-memory.js"
import { ArraySource, type Source } from "./source.js"
import {
  ALONE,
  ARENA_MAX_BYTES,
  BLOCK_LENGTH_BYTES,
  HEAD_BYTES,
  LZ4A,
  LZ4B,
  LZ4D,
  LZ4M,
  PLAIN,
  SENTINEL_BYTES,
  uint64,
} from "./wire.js"

const NO_BUDGET = 0xffffffff
/** Size of a zl_part. */
const PART_FIELDS_BYTES = 48

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
    const head = headOf(wire)
    const fail = this.#refusalOf(head, wire.length, index)
    const kind = this.#accept(this.#instance.place(INPUT, head), wire.length, place, fail)
    if (kind === LZ4A) return split(this.#arena(wire, fail))
    wire.skip(kind === PLAIN || kind === LZ4D ? SENTINEL_BYTES : HEAD_BYTES)
    if (kind === PLAIN) return wire.rest()
    if (kind === LZ4D) {
      this.install(wire)
      return split(new Uint8Array(0))
    }
    return this.#whole(kind, wire, fail)
  }

  /**
   * Decodes an LZ4B or LZ4M part block by block. Parts of other connections may be decoded between
   * two blocks. The plaintext of a block is valid until then.
   */
  *blocks(wire: Source, place: number, index: number): Generator<Uint8Array> {
    const head = headOf(wire)
    const fail = this.#refusalOf(head, wire.length, index)
    const kind = this.#accept(this.#instance.place(INPUT, head), wire.length, place, fail)
    wire.skip(HEAD_BYTES)
    yield* this.#blocks(kind, wire, fail)
  }

  /** Returns the bytes of plaintext declared by a part that is a message of its own. */
  plainBytes(wire: Uint8Array): number {
    const head = wire.subarray(0, HEAD_BYTES)
    this.#plainHead(this.#instance.place(INPUT, head), wire)
    return this.#instance.wide(this.#instance.part, 0)
  }

  /** Decodes a part that is a message of its own to `target`. Returns the bytes written. */
  partInto(wire: Uint8Array, target: Uint8Array): number {
    const instance = this.#instance
    // Place the whole part, so that its block need not be placed separately. A plain part is copied
    // from `wire` instead.
    const whole = wire.length <= instance.partMax && wire[0] !== 0
    const input = instance.place(INPUT, whole ? wire : wire.subarray(0, HEAD_BYTES))
    const kind = this.#plainHead(input, wire)
    const plainBytes = instance.wide(instance.part, 0)
    if (plainBytes > target.length) throw targetTooSmall(target, plainBytes)
    if (kind === PLAIN) target.set(wire.subarray(SENTINEL_BYTES))
    else if (kind === LZ4B && whole && plainBytes <= instance.partMax) {
      const { zl_block_decode, zl_receiver_dictionary } = instance.exports
      const block = (input + HEAD_BYTES) as Pointer
      const output = instance.scratch(OUTPUT, plainBytes)
      const dictionary = zl_receiver_dictionary(this.#receiver)
      const blockBytes = wire.length - HEAD_BYTES
      const status = zl_block_decode(dictionary, block, blockBytes, output, plainBytes)
      if (status < 0) throw this.#refusalOf(wire, wire.length, 0)(status)
      target.set(instance.view(output, plainBytes))
    } else {
      const rest = new ArraySource(wire.subarray(HEAD_BYTES))
      this.#whole(kind, rest, this.#refusalOf(wire, wire.length, 0), target)
    }
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
    if (kind === LZ4D) throw noPlaintext("a dictionary, which decode installs")
    if (kind === LZ4A) throw noPlaintext("an arena, whose messages decode returns")
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
    if (kind === LZ4B && !target && plainBytes <= instance.partMax) {
      const dictionary = instance.exports.zl_receiver_dictionary(this.#receiver)
      return instance.copy(
        decodeBlock(instance, dictionary, wire, wire.length, plainBytes, fail),
        plainBytes,
      )
    }
    let result = target
    let at = 0
    for (const block of this.#blocks(kind, wire, fail)) {
      if (!result && block.length === plainBytes) return copy(block, 0, plainBytes)
      result ??= allocate(plainBytes)
      result.set(block, at)
      at += block.length
    }
    return result ?? new Uint8Array(0)
  }

  /** Decodes the blocks of an accepted part. Each is valid until the module is used again. */
  *#blocks(kind: number, wire: Source, fail: Fail): Generator<Uint8Array> {
    const instance = this.#instance
    const { part } = instance
    const { zl_receive_block, zl_receiver_dictionary } = instance.exports
    const dictionary = zl_receiver_dictionary(this.#receiver)
    const plainBytes = instance.wide(part, 0)
    const isLarge = plainBytes > instance.partMax
    const advance = () => {
      const lengthBytes = Math.min(wire.length, BLOCK_LENGTH_BYTES)
      const length = kind === LZ4M ? instance.read(INPUT, wire, lengthBytes) : NULL
      const more = zl_receive_block(part, length)
      if (more < 0) throw fail(more)
      return more > 0
    }
    let more = advance()
    while (more) {
      const decode = (worker: Instance, dictionary: Pointer) => {
        const blockBytes = instance.word(part, 4)
        const blockPlain = instance.word(part, 5)
        const decoded = decodeBlock(worker, dictionary, wire, blockBytes, blockPlain, fail)
        // All rules are checked before the last block is handed out.
        more = advance()
        return worker.view(decoded, blockPlain)
      }
      const block = isLarge
        ? withLargeInstance(instance, dictionary, plainBytes, decode)
        : decode(instance, dictionary)
      const state = more ? instance.copy(part, PART_FIELDS_BYTES) : undefined
      yield block
      if (state) instance.view(part, PART_FIELDS_BYTES).set(state)
    }
  }

  /** Installs a dictionary of 1 to 8192 bytes. There must be none yet. */
  install(dictionary: Source): void {
    const { length } = dictionary
    const bytes = this.#instance.read(INPUT, dictionary, length)
    if (this.#instance.exports.zl_receive_dictionary(this.#receiver, bytes, length) < 0)
      throw outOfMemory("a dictionary", length)
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
  })
}

/** Decodes a block to the output region, and returns its place there. */
function decodeBlock(
  instance: Instance,
  dictionary: Pointer,
  wire: Source,
  blockBytes: number,
  plainBytes: number,
  fail: Fail,
): Pointer {
  const source = instance.read(INPUT, wire, blockBytes)
  const decoded = instance.scratch(OUTPUT, plainBytes)
  const { zl_block_decode } = instance.exports
  const status = zl_block_decode(dictionary, source, blockBytes, decoded, plainBytes)
  if (status < 0) throw fail(status)
  return decoded
}

/** Returns the head of a part, or all of a shorter one. */
function headOf(wire: Source): Uint8Array {
  const head = new Uint8Array(Math.min(wire.length, HEAD_BYTES))
  wire.peek(head)
  return head
}
