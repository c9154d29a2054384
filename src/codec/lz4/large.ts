/** Large parts: blocks of up to 1 GiB, which do not refer to each other (RFC.md section 4). */
import type { Give, LargePart } from "../format.js"
import { INPUT, type Instance, OUTPUT } from "../instance.js"
import { withLargeInstance } from "../large.js"
import { NULL, type Pointer } from "../module-memory.js"
import type { Source } from "../source.js"
import { PLAIN_HEAD, SENTINEL_BYTES, uint64 } from "../wire.js"
import { exportsOf } from "./exports.js"
import { BLOCK_LENGTH_BYTES, HEAD_BYTES, LZ4M } from "./wire.js"

/** Size of a zl_part. */
const PART_FIELDS_BYTES = 48

/** Decodes a part block by block, as Format says. */
export function* decodeLarge(
  instance: Instance,
  dictionary: Pointer,
  { kind, plainBytes, wire }: LargePart,
  fail: (status: number) => Error,
): Generator<Uint8Array> {
  const { part } = instance
  const { zl_receive_block } = exportsOf(instance)
  wire.skip(HEAD_BYTES)
  const advance = () => {
    const lengthBytes = Math.min(wire.length, BLOCK_LENGTH_BYTES)
    const length = kind === LZ4M ? instance.read(INPUT, wire, lengthBytes) : NULL
    const more = zl_receive_block(part, length)
    if (more < 0) throw fail(more)
    return more > 0
  }
  let more = advance()
  while (more) {
    const block = withLargeInstance(instance, dictionary, plainBytes, (worker, dictionary) => {
      const blockBytes = instance.word(part, 4)
      const blockPlain = instance.word(part, 5)
      const source = worker.read(INPUT, wire, blockBytes)
      const decoded = worker.scratch(OUTPUT, blockPlain)
      const { zl_block_decode } = exportsOf(worker)
      const status = zl_block_decode(dictionary, source, blockBytes, decoded, blockPlain)
      if (status < 0) throw fail(status)
      // All rules are checked before the last block is handed out.
      more = advance()
      return worker.view(decoded, blockPlain)
    })
    const state = more ? instance.copy(part, PART_FIELDS_BYTES) : undefined
    yield block
    if (state) instance.view(part, PART_FIELDS_BYTES).set(state)
  }
}

/** Passes on the pieces of a part, as Format says. */
export function encodeLarge<T>(
  instance: Instance,
  dictionary: Pointer,
  effort: number,
  plain: Source,
  give: Give<T>,
): T {
  const { length } = plain
  if (length > instance.blockMax) return give(...multi(instance, dictionary, effort, plain))
  const source = instance.read(INPUT, plain, length)
  const target = instance.scratch(OUTPUT, length + SENTINEL_BYTES)
  const wireBytes = instance.exports.zl_part_encode(dictionary, source, length, target, effort)
  return wireBytes === 0
    ? give(PLAIN_HEAD, instance.view(source, length))
    : give(instance.view(target, wireBytes))
}

/** Encodes LZ4M. */
function multi(
  instance: Instance,
  dictionary: Pointer,
  effort: number,
  plain: Source,
): Uint8Array[] {
  const exports = exportsOf(instance)
  const { blockMax } = instance
  const room = exports.zl_block_bound(blockMax) >>> 0
  const head = instance.scratch(OUTPUT, HEAD_BYTES)
  exports.zl_multi_head(head, ...uint64(plain.length))
  const pieces = [instance.copy(head, HEAD_BYTES)]
  while (plain.length > 0) {
    const share = Math.min(plain.length, blockMax)
    const target = instance.scratch(OUTPUT, BLOCK_LENGTH_BYTES + room)
    const source = instance.read(INPUT, plain, share)
    const length = exports.zl_multi_block(dictionary, source, share, target, effort)
    pieces.push(instance.copy(target, length))
  }
  return pieces
}
