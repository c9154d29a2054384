import { isArrayBuffer, isDataView, isTypedArray } from "node:util/types"
import { fixedView, placeOf } from "../base/fixed-view.js"
import { REFERRED_MIN_BYTES } from "../base/limits.js"
import { bodyOf, FormedPart, KeptPart, PlainPart, TriedPart } from "../codec/formed-part.js"
import type { Message } from "../patterns/message.js"
import type { Refusal, Routing, SocketType } from "../patterns/socket-type.js"
import { explain } from "../transport/zmq-error.js"
import { type Part, plaintextOf } from "../zmtp/part.js"
import { partInside } from "./compressed-part.js"

/** The result of `receive`: the parts, and for some draft types their routing. */
export type Received = (Buffer | Routing)[]

/** The same for a proxy, which passes compressed parts on as they came. */
export type ReceivedParts = (Part | Routing)[]

const EMPTY = Buffer.alloc(0)

/** Returns the parts of a message as zeromq.js reads it, in the program's memory. */
export function toMessage(value: unknown): Message {
  if (!Array.isArray(value)) return [toPart(value)]
  const { length } = value
  const message: Message = new Array(length)
  for (let i = 0; i < length; i++) message[i] = toPart(value[i])
  return message
}

/** Returns a message that is sent plain, or compressed whatever its endpoint's threshold and level. */
export function withForm(message: Message, compress: boolean): Message {
  const Form = compress ? TriedPart : PlainPart
  return message.map((part) =>
    compress && part instanceof KeptPart ? part : new Form(fixedView(plaintextOf(part))),
  )
}

/** Returns a value for zeromq.js's send(), which knows no compressed parts. */
export function plainValue(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(plainValue)
  const compressed = partInside(value)
  return compressed ? plaintextOf(compressed) : value
}

function toPart(value: unknown): Part {
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
  const compressed = partInside(value)
  if (compressed) return compressed
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
  return Buffer.from(toPart(value) as Buffer)
}

function view(memory: ArrayBufferLike, offset: number, length: number): Buffer {
  // Buffer.from throws for detached memory.
  return length > 0 ? Buffer.from(memory as ArrayBuffer, offset, length) : EMPTY
}

/** Copies a message that will be queued, because the program may reuse its memory meanwhile. */
export function copyMessage(message: Message): Message {
  return message.map((part) => (part instanceof FormedPart ? part.copied() : Buffer.from(part)))
}

/** Copies the small parts of a message. Large ones stay in the program's memory. */
export function copySmallParts(message: Message): Message {
  return message.map((part) => {
    if (bodyOf(part).length >= REFERRED_MIN_BYTES) return part
    return part instanceof FormedPart ? part.copied() : Buffer.from(part)
  })
}

/** Receives a message of a type as it came. */
export function receiveFrom(type: SocketType): ReceivedParts | Refusal {
  const message = type.receive()
  if (typeof message === "string") return message
  const { routing } = type
  return routing === undefined ? message : [...message, routing]
}
