import { CIPHER_BYTES } from "../base/limits.js"
import { outOfMemory } from "../codec/errors.js"
import { INPUT } from "../codec/instance.js"
import { NULL, type Pointer } from "../codec/module-memory.js"
import type { Curve } from "./curve.js"
import type { CurveInstance } from "./instance.js"

/** Bytes of a MESSAGE command before the sealed flags: its name, a counter and a MAC. */
export const MESSAGE_HEAD_BYTES = 32
/** What a MESSAGE command adds to a part: its head and the flags. */
export const MESSAGE_EXTRA_BYTES: number = MESSAGE_HEAD_BYTES + 1
export const COUNTER_BYTES = 8
export const PREFIX_MAX_BYTES: number = 9 + MESSAGE_EXTRA_BYTES

/** Room for the result, so that small frames, which grow most, need few calls. */
export const ROOM_BYTES: number = 2 * CIPHER_BYTES

/** A reason of zeromq.js's event "handshake:error:protocol", without ERR_ZMTP_. */
export type CipherReason =
  | "UNEXPECTED_COMMAND"
  | "MALFORMED_COMMAND_UNSPECIFIED"
  | "MALFORMED_COMMAND_MESSAGE"
  | "INVALID_SEQUENCE"
  | "CRYPTOGRAPHIC"
  | undefined

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

/** The messages of one direction of a connection, after the handshake. */
export interface SealedDirection {
  /** The key that both sides' short-term keys share. */
  key: Uint8Array
  /** Whether the server sends them. */
  ofServer: boolean
  /** The last counter that the handshake used in this direction, as 8 bytes. */
  counter: Uint8Array
}

/** The key and counter of a direction, in the memory of the module. */
export class Cipher {
  readonly instance: CurveInstance
  #pointer: Pointer

  constructor({ instance }: Curve, { key, ofServer, counter }: SealedDirection) {
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
