import type { Message } from "../patterns/pipe.js"

const EMPTY = Buffer.alloc(0)

/** The parts of what a program sends, as zeromq.js reads them. Memory of the program is not copied. */
export function toMessage(value: unknown): Message {
  if (Buffer.isBuffer(value)) return [value]
  if (!Array.isArray(value)) return [toPart(value)]
  const message: Message = new Array(value.length)
  for (let i = 0; i < value.length; i++) message[i] = toPart(value[i])
  return message
}

function toPart(value: unknown): Buffer {
  if (typeof value === "string") return Buffer.from(value)
  if (Buffer.isBuffer(value)) return value
  if (ArrayBuffer.isView(value))
    return Buffer.from(value.buffer as ArrayBuffer, value.byteOffset, value.byteLength)
  if (value === null) return EMPTY
  if (value instanceof ArrayBuffer) return Buffer.from(value)
  return Buffer.from(`${value as string}`)
}

/** A copy, for a message that waits: its memory may be used again meanwhile. */
export function copyMessage(message: Message): Message {
  return message.map((part) => Buffer.from(part))
}
