import { BUFFER_MAX_BYTES } from "../base/buffer-max.js"
import { CollectedBody } from "../base/collected-body.js"
import { copyShared } from "../base/copy-shared.js"
import { CIPHER_BYTES } from "../base/limits.js"
import { allocate, copy } from "../codec/arrays.js"
import { type Chunk, ChunkBuilder, type Content } from "../codec/chunk.js"
import { outOfMemory } from "../codec/errors.js"
import {
  BODY_MAX_BYTES,
  FrameHead,
  frameHeadLength,
  MORE,
  writeFrameHead,
} from "../codec/frames.js"
import { INPUT, OUTPUT } from "../codec/instance.js"
import { NULL, type Pointer } from "../codec/module-memory.js"
import { uint64 } from "../codec/wire.js"
import type { Curve } from "./curve.js"
import type { CurveInstance } from "./instance.js"

/** Bytes of a MESSAGE command before the sealed flags: its name, a counter and a MAC. */
export const MESSAGE_HEAD_BYTES = 32
/** What a MESSAGE command adds to a part: its head and the flags. */
export const MESSAGE_EXTRA_BYTES: number = MESSAGE_HEAD_BYTES + 1
const MAC_BYTES = 16
export const COUNTER_BYTES = 8
const PREFIX_MAX_BYTES = 9 + MESSAGE_EXTRA_BYTES
/** Bytes that show what a frame is: its head and the name of the command. */
const SHOWS_BYTES = 9 + 8

/** Room for the result, so that small frames, which grow most, need few calls. */
const ROOM_BYTES = 2 * CIPHER_BYTES
/** Frames of these sizes are received into memory that is used again. */
const REUSED_MIN_BYTES = 32 * 1024
const REUSED_MAX_BYTES = 192 * 1024

const builder = new ChunkBuilder()
/** The content of a chunk of frames that are no messages. */
const NO_MESSAGES: Content = {
  messages: 0,
  plainBytes: 0,
  wireBytes: 0,
  dictionary: undefined,
  packing: "frames",
}

/** A reason of zeromq.js's event "handshake:error:protocol", without ERR_ZMTP_. */
export type CipherReason =
  | "UNEXPECTED_COMMAND"
  | "MALFORMED_COMMAND_UNSPECIFIED"
  | "MALFORMED_COMMAND_MESSAGE"
  | "INVALID_SEQUENCE"
  | "CRYPTOGRAPHIC"
  | undefined

/** ZL_E_NOT_MESSAGE in curve.h. */
const NOT_MESSAGE = -1
/** ZL_E_MESSAGE_HEAD in curve.h. */
const MESSAGE_HEAD = -5

/** The rules in the order of -ZL_E_* in curve.h, from 1. */
const RULES: readonly [detail: string, reason: CipherReason][] = [
  ["a frame is no MESSAGE: the peer does not encrypt", "UNEXPECTED_COMMAND"],
  ["a MESSAGE is cut short", "MALFORMED_COMMAND_MESSAGE"],
  ["a MESSAGE came twice, or out of order", "INVALID_SEQUENCE"],
  ["a MESSAGE was changed on the way, or sealed with another key", "CRYPTOGRAPHIC"],
  ["the head of a MESSAGE's frame is not allowed", undefined],
  ["a MESSAGE is longer than maxMessageSize allows", undefined],
]

/** The error for a peer that broke a rule of MESSAGE commands. */
export class CipherError extends Error {
  /** The name of the failure in libzmq's monitor; undefined if it has none. */
  readonly reason: CipherReason

  /** @param isCommand whether the frame can be a command, which begins with the length of its name. */
  constructor(status: number, isCommand = true) {
    const [detail, reason] = RULES[-status - 1] ?? ["", undefined]
    super(detail)
    this.reason = isCommand ? reason : "MALFORMED_COMMAND_UNSPECIFIED"
  }
}

/** The consumer of opened frames. */
export type FramesSink = (frames: Uint8Array) => void

/** The messages of one direction of a connection, after the handshake. */
export interface Direction {
  /** The key that both sides' short-term keys share. */
  key: Uint8Array
  /** Whether the server sends them. */
  ofServer: boolean
  /** The last counter that the handshake used in this direction, as 8 bytes. */
  counter: Uint8Array
}

/** The key and counter of a direction, in the memory of the module. */
class Cipher {
  readonly instance: CurveInstance
  #pointer: Pointer

  constructor({ instance }: Curve, { key, ofServer, counter }: Direction) {
    const { exports } = instance
    this.instance = instance
    const at = instance.scratch(INPUT, key.length)
    instance.bytes.set(key, at)
    const { buffer, byteOffset } = counter
    const view = new DataView(buffer, byteOffset, COUNTER_BYTES)
    this.#pointer = exports.zl_cipher_open(
      at,
      Number(ofServer),
      view.getUint32(4),
      view.getUint32(0),
    )
    exports.zl_wipe(at, key.length)
    if (this.#pointer === NULL) throw outOfMemory("a connection", key.length)
  }

  get pointer(): Pointer {
    if (this.#pointer === NULL) throw new Error("the cipher is closed")
    return this.#pointer
  }

  close(): void {
    if (this.#pointer !== NULL) this.instance.exports.zl_cipher_close(this.#pointer)
    this.#pointer = NULL
  }
}

/** Seals the messages that a connection sends: plain ZMTP frames to MESSAGE commands (RFC 26). */
export class Sealer {
  readonly #cipher: Cipher
  readonly #head = new FrameHead()

  constructor(curve: Curve, direction: Direction) {
    this.#cipher = new Cipher(curve, direction)
  }

  /** Wipes the key. Nothing can be sealed after that. */
  close(): void {
    this.#cipher.close()
  }

  /** Does the same as `sealed` for frames in one array. Returns an array that belongs to the caller. */
  seal(frames: Uint8Array): Uint8Array {
    const chunk = this.sealed([frames], NO_MESSAGES)
    const sealed = copy(chunk.bytes, 0, chunk.bytes.length)
    chunk.release()
    return sealed
  }

  /**
   * Seals whole frames, each as a MESSAGE of its own. `pieces` are arrays that contain them one after
   * another.
   *
   * @throws Error if the counters are used up; the connection has to end then.
   */
  sealed(pieces: readonly Uint8Array[], content: Content): Chunk {
    builder.begin()
    try {
      this.#append(pieces)
    } catch (error) {
      builder.abandon()
      throw error
    }
    return builder.end(content)
  }

  #append(pieces: readonly Uint8Array[]): void {
    const instance = this.#cipher.instance
    let left = 0
    for (const piece of pieces) left += piece.length
    for (let from = 0; left > 0; ) {
      const length = Math.min(left, CIPHER_BYTES)
      const source = instance.scratch(INPUT, CIPHER_BYTES)
      const target = instance.scratch(OUTPUT, ROOM_BYTES)
      gather(pieces, from, instance.view(source, length))
      const { pointer } = this.#cipher
      check(
        instance.exports.zl_seal(pointer, source, length, target, ROOM_BYTES, instance.crossing),
      )
      const { read, written } = instance.crossed()
      if (written > 0) builder.append(instance.view(target, written))
      const sealed = read > 0 ? read : this.#appendLarge(pieces, from)
      from += sealed
      left -= sealed
    }
  }

  /** Seals a frame that the module has no room for, whose head is in INPUT. Returns its length. */
  #appendLarge(pieces: readonly Uint8Array[], from: number): number {
    const instance = this.#cipher.instance
    const { exports } = instance
    const head = this.#head
    const source = instance.scratch(INPUT, CIPHER_BYTES)
    const target = instance.scratch(OUTPUT, PREFIX_MAX_BYTES)
    const start = head.read(instance.view(source, CIPHER_BYTES), 0)
    const end = start + head.bodyBytes
    const [low, high] = uint64(head.bodyBytes)
    // Before the box is begun: without memory, it would not be ended, and keep the key.
    const slab = builder.reserve(PREFIX_MAX_BYTES + head.bodyBytes)
    const prefix = check(exports.zl_seal_begin(this.#cipher.pointer, head.flags, low, high, target))
    const sealed = slab.bytes
    let at = slab.used
    sealed.set(instance.view(target, prefix), at)
    at += prefix
    const mac = at - 1 - MAC_BYTES
    for (let piece = start; piece < end; piece += CIPHER_BYTES) {
      const length = Math.min(end - piece, CIPHER_BYTES)
      gather(pieces, from + piece, instance.view(source, length))
      exports.zl_seal_piece(source, length)
      sealed.set(instance.view(source, length), at)
      at += length
    }
    exports.zl_seal_end(target)
    sealed.set(instance.view(target, MAC_BYTES), mac)
    slab.used = at
    return end
  }
}

/** Copies what the pieces contain from `from` on, one after another, until `target` is full. */
function gather(pieces: readonly Uint8Array[], from: number, target: Uint8Array): void {
  let skipped = from
  let filled = 0
  for (const piece of pieces) {
    const wanted = target.length - filled
    if (wanted === 0) return
    if (skipped >= piece.length) {
      skipped -= piece.length
      continue
    }
    const isWhole = skipped === 0 && piece.length <= wanted
    const bytes = isWhole ? piece : piece.subarray(skipped, skipped + wanted)
    copyShared(target, filled, bytes)
    filled += bytes.length
    skipped = 0
  }
}

/** Opens the messages that a connection receives: MESSAGE commands to plain ZMTP frames. */
export class Opener {
  readonly #cipher: Cipher
  /** Maximum size of a MESSAGE command, in bytes. */
  readonly #maxBytes: [low: number, high: number]
  readonly #head = new FrameHead()
  /** An incomplete frame. */
  readonly #frame = new CollectedBody(frameRoom)

  /** @param maxBytes of a frame's body inside; Infinity is no limit. */
  constructor(curve: Curve, direction: Direction, maxBytes: number) {
    this.#cipher = new Cipher(curve, direction)
    const most = Math.min(maxBytes, BUFFER_MAX_BYTES - PREFIX_MAX_BYTES) + MESSAGE_EXTRA_BYTES
    this.#maxBytes = most < BODY_MAX_BYTES ? uint64(most) : [0xffffffff, 0xffffffff]
  }

  /** Wipes the key. Nothing can be opened after that. */
  close(): void {
    this.#cipher.close()
    this.#frame.drop()
  }

  /** Whether a frame is incomplete. */
  get insideFrame(): boolean {
    return this.#frame.filledBytes > 0
  }

  /**
   * Opens a chunk of a stream of frames with MESSAGE commands, whose chunks may end anywhere. The
   * opened frames are valid during the call of `sink` only.
   *
   * @throws CipherError if the stream breaks a rule. What came before that was passed to `sink`.
   */
  open(chunk: Uint8Array, sink: FramesSink): void {
    let at = this.insideFrame ? this.#complete(chunk, sink) : 0
    while (at < chunk.length) {
      const frameBytes = this.#wholeBytes(chunk, at)
      if (frameBytes === 0) {
        // The rest is the beginning of a frame.
        at = this.#complete(chunk, sink, at)
      } else if (frameBytes > CIPHER_BYTES) {
        const frame = chunk.subarray(at, at + frameBytes)
        this.#checkFirst(frame)
        const room = frameRoom(frameBytes)
        this.#openLarge(frame, room, sink)
        spare(room)
        at += frameBytes
      } else at += this.#openFrames(chunk.subarray(at, at + CIPHER_BYTES), sink)
    }
  }

  /**
   * Returns the size of the frame at `at`; 0 if it does not end in the chunk. Nothing is checked here.
   */
  #wholeBytes(chunk: Uint8Array, at: number): number {
    const end = this.#head.read(chunk, at) + this.#head.bodyBytes
    return end <= chunk.length ? end - at : 0
  }

  /** Checks what the first bytes of a frame, which are too few for a MESSAGE, already show. */
  #checkFirst(frame: Uint8Array): void {
    this.#openFrames(frame.subarray(0, SHOWS_BYTES), () => {})
  }

  /** Opens the whole frames at the beginning of some bytes, and returns their length. */
  #openFrames(bytes: Uint8Array, sink: FramesSink): number {
    const instance = this.#cipher.instance
    const { length } = bytes
    const source = instance.scratch(INPUT, CIPHER_BYTES)
    const target = instance.scratch(OUTPUT, ROOM_BYTES)
    instance.bytes.set(bytes, source)
    const [low, high] = this.#maxBytes
    const status = instance.exports.zl_unseal(
      this.#cipher.pointer,
      source,
      length,
      low,
      high,
      target,
      ROOM_BYTES,
      instance.crossing,
    )
    const { read, written } = instance.crossed()
    if (written > 0) passOn(instance.view(target, written), sink)
    if (status < 0)
      throw new CipherError(status, status !== NOT_MESSAGE || this.#isCommand(bytes, read))
    return read
  }

  /** Returns whether a frame, whose head is there, is long enough for the name of a command. */
  #isCommand(bytes: Uint8Array, at: number): boolean {
    const body = this.#head.read(bytes, at)
    const { bodyBytes } = this.#head
    return bodyBytes > 1 && bodyBytes > (bytes[body] ?? 0)
  }

  /** Goes on with an incomplete frame, and opens it once it is whole. Returns the position after it. */
  #complete(chunk: Uint8Array, sink: FramesSink, start = 0): number {
    const collected = this.#frame
    let at = start
    if (collected.filledBytes < SHOWS_BYTES) {
      collected.extend(SHOWS_BYTES)
      at = collected.collect(chunk, at)
      this.#checkFirst(collected.filled)
      if (collected.filledBytes < SHOWS_BYTES) return at
    }
    const frameBytes = this.#head.read(collected.filled, 0) + this.#head.bodyBytes
    collected.extend(frameBytes)
    at = collected.collect(chunk, at)
    if (collected.missingBytes > 0) return at
    const frame = collected.take()
    if (frameBytes > CIPHER_BYTES) this.#openLarge(frame, frame, sink)
    else this.#openFrames(frame, sink)
    spare(frame)
    return at
  }

  /** Opens a frame that the module has no room for, into `room`, which may be the frame itself. */
  #openLarge(frame: Uint8Array, room: Uint8Array, sink: FramesSink): void {
    const instance = this.#cipher.instance
    const { exports } = instance
    const source = instance.scratch(INPUT, CIPHER_BYTES)
    const head = this.#head
    const body = head.read(frame, 0)
    const start = body + MESSAGE_HEAD_BYTES
    instance.bytes.set(frame.subarray(body, start), source)
    const begun = exports.zl_unseal_begin(this.#cipher.pointer, source)
    if (begun < 0) throw new CipherError(begun)
    for (let at = start; at < frame.length; at += CIPHER_BYTES) {
      const piece = frame.subarray(at, at + CIPHER_BYTES)
      instance.bytes.set(piece, source)
      exports.zl_unseal_piece(source, piece.length)
      room.set(instance.view(source, piece.length), at)
    }
    const status = exports.zl_unseal_end()
    if (status < 0) {
      room.fill(0)
      throw new CipherError(status)
    }
    const plain = start + 1
    const flags = exports.zl_message_flags(room[start] as number)
    if (head.flags & ~flags & MORE) throw new CipherError(MESSAGE_HEAD)
    const first = plain - frameHeadLength(frame.length - plain)
    writeFrameHead(room, first, flags, frame.length - plain)
    sink(room.subarray(first, frame.length))
  }
}

/**
 * Memory that is used again: of opened frames on their way to the sink, and of a large frame. Fresh
 * memory takes longer than the copy into it.
 */
let spareRoom: Uint8Array | undefined
let spareFrame: Uint8Array | undefined

/**
 * Passes on frames that are in the module's memory, from where they are copied: what the sink does may
 * use the module, or make its memory grow.
 */
function passOn(frames: Uint8Array, sink: FramesSink): void {
  const room = spareRoom ?? allocate(CIPHER_BYTES)
  spareRoom = undefined // a sink that opens frames, too, gets other memory
  room.set(frames)
  try {
    sink(room.subarray(0, frames.length))
  } finally {
    spareRoom = room
  }
}

/** Returns memory for at least `bytes` of a frame. */
function frameRoom(bytes: number): Uint8Array {
  if (bytes < REUSED_MIN_BYTES || bytes > REUSED_MAX_BYTES) return allocate(bytes)
  const room = spareFrame ?? allocate(REUSED_MAX_BYTES)
  spareFrame = undefined
  return room
}

/**
 * Takes back memory of `frameRoom`, if it is of the size that is used again. Less may be in Node's pool.
 */
function spare(room: Uint8Array): void {
  if (room.length < REUSED_MIN_BYTES) return
  if (room.buffer.byteLength === REUSED_MAX_BYTES) spareFrame = new Uint8Array(room.buffer)
}

function check(status: number): number {
  if (status < 0) throw new Error("CURVE: this connection has sent all messages that it can")
  return status
}
