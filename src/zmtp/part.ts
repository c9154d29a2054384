import { FormedPart, hasForms, KeptPart } from "../codec/formed-part.js"
import { KEPT } from "../codec/frames.js"

/** A part of a message: its plaintext, or what it was on the wire. */
export type Part = Buffer | FormedPart

/** Returns the part of a received frame. */
export const receivedPart = (flags: number, body: Buffer): Part =>
  flags & KEPT ? new KeptPart(body) : body

/** Returns the plaintext of a part. */
export function plaintextOf(part: Part): Buffer {
  if (!(part instanceof FormedPart)) return part
  const plain = part.plaintext()
  return Buffer.isBuffer(plain) ? plain : Buffer.from(plain.buffer, plain.byteOffset, plain.length)
}

/** Returns the plaintext of all parts, which is the message itself if it has no others. */
export const plainMessage = (message: Part[]): Buffer[] =>
  hasForms(message) ? message.map(plaintextOf) : (message as Buffer[])

/** What received parts were on the wire, for programs that ask. */
const remembered = new WeakMap<Uint8Array, KeptPart>()

/** Returns the plaintext of all parts, and remembers what they were on the wire. */
export function rememberForms(message: Part[]): Buffer[] {
  return message.map((part) => {
    const plain = plaintextOf(part)
    if (part instanceof KeptPart) remembered.set(plain, part)
    return plain
  })
}

/** Returns what a received part was on the wire; undefined if it came plain, or that was not kept. */
export const rememberedForm = (part: Uint8Array): KeptPart | undefined => remembered.get(part)
