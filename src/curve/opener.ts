import { BUFFER_MAX_BYTES } from "../base/buffer-max.js"
import { CollectedBody } from "../base/collected-body.js"
import { CIPHER_BYTES } from "../base/limits.js"
import { allocate } from "../codec/arrays.js"
import {
  BODY_MAX_BYTES,
  FrameHead,
  frameHeadLength,
  MORE,
  writeFrameHead,
} from "../codec/frames.js"
import { INPUT, OUTPUT } from "../codec/instance.js"
import { uint64 } from "../codec/wire.js"
import {
  Cipher,
  CipherError,
  MESSAGE_EXTRA_BYTES,
  MESSAGE_HEAD_BYTES,
  PREFIX_MAX_BYTES,
  ROOM_BYTES,
  type SealedDirection,
} from "./cipher.js"
import type { Curve } from "./curve.js"

/** Bytes that show what a frame is: its head and the name of the command. */
const SHOWS_BYTES = 9 + 8
/** Frames of these sizes are received into memory that is used again. */
const REUSED_MIN_BYTES = 32 * 1024
const REUSED_MAX_BYTES = 192 * 1024
/** ZL_E_NOT_MESSAGE and ZL_E_MESSAGE_HEAD in curve.h. */
const NOT_MESSAGE = -1
const MESSAGE_HEAD = -5

/** The consumer of opened frames. */
export type FramesSink = (frames: Uint8Array) => void

/** Opens the messages that a connection receives: MESSAGE commands to plain ZMTP frames. */
export class Opener {
  readonly #cipher: Cipher
  /** Maximum size of a MESSAGE command, in bytes. */
  readonly #maxBytes: [low: number, high: number]
  readonly #head = new FrameHead()
  /** An incomplete frame. */
  readonly #frame = new CollectedBody(frameRoom)

  /** @param maxBytes of a frame's body inside; Infinity is no limit. */
  constructor(curve: Curve, direction: SealedDirection, maxBytes: number) {
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
