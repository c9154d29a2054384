import { copy } from "./arrays.js"
import type { FormatOf } from "./format.js"
import { type MemoryExports, ModuleMemory, type Pointer } from "./module-memory.js"
import type { Source } from "./source.js"

/** The exports that wasm/zeromq_lz4.h describes: those that the modules of all formats have. */
export interface Exports extends MemoryExports {
  zl_block_max(): number
  zl_part_max(): number
  zl_dictionary_open(bytes: Pointer, length: number): Pointer
  zl_dictionary_close(dictionary: Pointer): void
  zl_dictionary_check(dictionary: Pointer): number
  zl_dictionary_bytes(dictionary: Pointer): Pointer
  zl_dictionary_length(dictionary: Pointer): number
  zl_receiver_open(budgetLow: number, budgetHigh: number, revision: number): Pointer
  zl_receiver_close(receiver: Pointer): void
  zl_receiver_dictionary(receiver: Pointer): Pointer
  zl_part_slot(): Pointer
  zl_receive_head(
    receiver: Pointer,
    head: Pointer,
    wireLow: number,
    wireHigh: number,
    place: number,
    part: Pointer,
  ): number
  zl_receive_dictionary(receiver: Pointer, bytes: Pointer, length: number): number
  zl_part_decode(
    receiver: Pointer,
    wire: Pointer,
    wireBytes: number,
    part: Pointer,
    target: Pointer,
  ): number
  zl_part_encode(
    dictionary: Pointer,
    source: Pointer,
    plain: number,
    target: Pointer,
    effort: number,
  ): number
  zl_arena_slot(): Pointer
  zl_arena_join(arena: Pointer, bytes: number, parts: number): number
  zl_arena_read(
    receiver: Pointer,
    wire: Pointer,
    wireBytes: number,
    target: Pointer,
    arena: Pointer,
  ): number
  zl_arena_encode(
    dictionary: Pointer,
    frames: Pointer,
    length: number,
    messages: number,
    parts: number,
    target: Pointer,
    minBytes: number,
    effort: number,
  ): number
  zl_receiving_open(
    budgetLow: number,
    budgetHigh: number,
    revision: number,
    greeted: number,
  ): Pointer
  zl_receiving_limit(transcoder: Pointer, low: number, high: number, parts: number): void
  zl_trainer_open(capacity: number, trigger: number, minBytes: number, deferred: number): Pointer
  zl_trainer_close(trainer: Pointer): void
  zl_trainer_wants(trainer: Pointer): number
  zl_trainer_sample(trainer: Pointer, part: Pointer, length: number): void
  zl_trainer_message(trainer: Pointer): number
  zl_trainer_ready(trainer: Pointer): number
  zl_trainer_step(trainer: Pointer): number
  zl_trainer_finish(trainer: Pointer): Pointer
  zl_sending_open(
    dictionary: Pointer,
    minBytes: number,
    effort: number,
    arenas: number,
    trainer: Pointer,
    greeted: number,
  ): Pointer
  zl_sending_effort(transcoder: Pointer, effort: number): void
  zl_sending_arenas(transcoder: Pointer, arenas: number): void
  zl_sending_plan(transcoder: Pointer, low: number, high: number): number
  zl_sending_shrinks(transcoder: Pointer, sample: Pointer, length: number): number
  zl_sending_plain(
    transcoder: Pointer,
    target: Pointer,
    more: number,
    low: number,
    high: number,
  ): number
  zl_sending_kept(
    transcoder: Pointer,
    more: number,
    low: number,
    high: number,
    wireLow: number,
    wireHigh: number,
  ): void
  zl_receiving_keep(transcoder: Pointer, keeps: number): void
  zl_transcoder_close(transcoder: Pointer): void
  zl_transcode(
    transcoder: Pointer,
    input: Pointer,
    length: number,
    output: Pointer,
    room: number,
    progress: Pointer,
  ): number
  zl_progress_slot(): Pointer
  zl_body_left(transcoder: Pointer): number
  zl_body_taken(transcoder: Pointer, bytes: number): void
  zl_large_part(transcoder: Pointer): Pointer
  zl_large_done(transcoder: Pointer, target: Pointer, low: number, high: number): number
  zl_transcoder_dictionary(transcoder: Pointer): Pointer
  zl_transcoder_receiver(transcoder: Pointer): Pointer
  zl_greeting_seen(transcoder: Pointer): Pointer
  zl_greeting_count(transcoder: Pointer): number
  zl_part_index(transcoder: Pointer): number
  zl_inside_message(transcoder: Pointer): number
}

/** The status of zl_transcode; see zeromq_lz4.h. */
export const NEEDS_INPUT = 0
export const NEEDS_ROOM = 1
export const LARGE_PART = 2
export const BODY = 3

/** Results of zl_sending_plan; larger ones are numbers of bytes. */
export const GOES_PLAIN = 0
export const IS_TRIED = 1

/** Scratch regions. Each use of a region ends the previous one. */
export const INPUT = 0
export const OUTPUT = 1

/** An owner of bytes that stay in INPUT until the region is needed for something else. */
export interface InputUser {
  /** Moves the bytes out, because the region is needed. */
  moveOut(): void
}

/** A format of compressed parts. */
export type Format = FormatOf<Instance>

/** One instance of the module, with its memory. */
export class Instance extends ModuleMemory<Exports> {
  readonly format: Format
  readonly module: WebAssembly.Module
  /** The zl_part that calls into the module fill. */
  readonly part: Pointer
  /** Parts of more plaintext than this, in bytes, are never sent plain. */
  readonly blockMax: number
  /** Maximum plaintext of a part that is encoded or decoded in shared memory, in bytes. */
  readonly partMax: number
  /** The owner of bytes in INPUT, which stay there until `scratch` is called for it. */
  inputUser: InputUser | undefined

  constructor(module: WebAssembly.Module, format: Format) {
    super(module, format.ownExport)
    this.format = format
    this.module = module
    this.blockMax = this.exports.zl_block_max()
    this.partMax = this.exports.zl_part_max()
    this.part = this.exports.zl_part_slot()
  }

  /** Returns a region of scratch memory. Throws if memory runs out. */
  override scratch(region: number, bytes: number): Pointer {
    if (region === INPUT) this.inputUser?.moveOut()
    return super.scratch(region, bytes)
  }

  /** Copies bytes to a scratch region. */
  place(region: number, bytes: Uint8Array): Pointer {
    const pointer = this.scratch(region, bytes.length)
    this.bytes.set(bytes, pointer)
    return pointer
  }

  /** Copies the next `length` bytes of a source to a scratch region. */
  read(region: number, source: Source, length: number): Pointer {
    const pointer = this.scratch(region, length)
    source.read(this.view(pointer, length))
    return pointer
  }

  /** Returns a copy of memory, which belongs to the caller. */
  copy(pointer: Pointer, length: number): Uint8Array {
    const start = pointer >>> 0
    return copy(this.bytes, start, start + length)
  }
}
