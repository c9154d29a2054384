import { isArrayBuffer, isDataView, isTypedArray } from "node:util/types"
import { placeOf } from "../base/fixed-view.js"
import { REFERRED_MIN_BYTES } from "../base/limits.js"
import type { Message } from "../patterns/message.js"
import type { Refusal, Routing, SocketType } from "../patterns/socket-type.js"
import { explain } from "../transport/zmq-error.js"

/** The result of `receive`: the parts, and for some draft types their routing. */
export type Received = (Buffer | Routing)[]

const EMPTY = Buffer.alloc(0)

/** Returns the parts of a message as zeromq.js reads it, in the program's memory. */
export function toMessage(value: unknown): Message {
  if (!Array.isArray(value)) return [toPart(value)]
  const { length } = value
  const message: Message = new Array(length)
  for (let i = 0; i < length; i++) message[i] = toPart(value[i])
  return message
}

function toPart(value: unknown): Buffer {
  if (typeof value === "string") return Buffer.from(value)
  if (value === null) return EMPTY
  // A detached buffer has a length of 0, too, but could not be copied.
  if (isPlainBuffer(value)) return value.length > 0 ? value : EMPTY
  if (isTypedArray(value)) {
    const { buffer, byteOffset, byteLength } = placeOf(value)
    return view(buffer, byteOffset, byteLength)
  }
  if (isDataView(value))
    throw explain(
      new Error("Invalid argument"),
      "a DataView is not sent, but a Uint8Array of its memory is",
    )
  // An ArrayBuffer of another realm is not an instance of this realm's class.
  if (isArrayBuffer(value)) return view(value, 0, value.byteLength)
  return Buffer.from(`${value as string}`)
}

/** Returns whether a value is a Buffer with its own `length`, which may still grow: read it once. */
function isPlainBuffer(value: unknown): value is Buffer {
  return (
    typeof value === "object" &&
    Object.getPrototypeOf(value) === Buffer.prototype &&
    !Object.hasOwn(value as Buffer, "length")
  )
}

/** Copies an option, routing id or group as zeromq.js reads it: text, or the memory of a view. */
export function copyBytes(value: string | NodeJS.ArrayBufferView): Buffer {
  return Buffer.from(toPart(value))
}

function view(memory: ArrayBufferLike, offset: number, length: number): Buffer {
  // Buffer.from throws for detached memory.
  return length > 0 ? Buffer.from(memory as ArrayBuffer, offset, length) : EMPTY
}

/** Copies a message that will be queued, because the program may reuse its memory meanwhile. */
export function copyMessage(message: Message): Message {
  return message.map((part) => Buffer.from(part))
}

/** Copies the small parts of a message. Large ones stay in the program's memory. */
export function copySmallParts(message: Message): Message {
  return message.map((part) => (part.length < REFERRED_MIN_BYTES ? Buffer.from(part) : part))
}

export function receiveFrom(type: SocketType): Received | Refusal {
  const message = type.receive()
  if (typeof message === "string") return message
  const { routing } = type
  return routing === undefined ? message : [...message, routing]
}
