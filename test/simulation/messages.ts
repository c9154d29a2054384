/** Messages that contain their sender and number, from which all of their bytes follow. */
import { Random } from "./random.js"
import type { SendSpec } from "./scenario.js"
import { TOPICS } from "./scenario.js"

const TOPIC_BYTES = 4
const MAGIC = 0x5a4c
const HEAD_BYTES = TOPIC_BYTES + 12
/** The recipient of a message that is not meant for a particular socket. */
export const ANYBODY = 0xffff

const POOL_BYTES = 1 << 20

const noise = Buffer.allocUnsafeSlow(POOL_BYTES)
const texts = Buffer.allocUnsafeSlow(POOL_BYTES)
{
  const random = new Random(1)
  for (let at = 0; at < POOL_BYTES; at += 4)
    noise.writeUInt32LE(Math.floor(random.fraction() * 2 ** 32), at)
  let at = 0
  for (let i = 0; at < POOL_BYTES; i++) {
    const text = `{"id":${i},"name":"${random.pick(TOPICS)}","values":[${random.below(10)},${random.below(1e4)},${i % 7}]}`
    at += texts.write(text, at)
  }
}

/** The data in the head of a message. */
export interface Head {
  sender: number
  sequence: number
  to: number
}

/** The sender of messages, its way of sending, and whether messages have several parts. */
export interface Author {
  number: number
  send: Pick<SendSpec, "maxBytes" | "maxParts" | "compressible">
  hasParts: boolean
}

function pool(random: Random, compressible: number, bytes: number): Buffer {
  const source = random.chance(compressible) ? texts : noise
  if (bytes <= POOL_BYTES / 2) {
    const start = random.below(POOL_BYTES - bytes)
    return source.subarray(start, start + bytes)
  }
  const start = random.below(POOL_BYTES)
  const result = Buffer.allocUnsafe(bytes)
  for (let at = 0; at < bytes; ) at += source.copy(result, at, at === 0 ? start : 0)
  return result
}

/**
 * Returns the topic of a message. It depends on the message's number, so that each author uses all
 * topics.
 */
export const topicOf = ({ sender, sequence }: Head): string =>
  TOPICS[(sender + sequence) % TOPICS.length] as string

/** Changes a first byte that would make a part a subscription, as any part of an XSUB's message may be. */
function asContent(part: Buffer): Buffer {
  if (part.length === 0 || (part[0] as number) > 1) return part
  const content = Buffer.from(part)
  content[0] = 2
  return content
}

/** Returns the parts of a message. The caller may overwrite the first one. */
export function build(author: Author, head: Head): Buffer[] {
  const { send, hasParts } = author
  const random = new Random(head.sequence * 65_536 + head.sender, head.to)
  const parts = hasParts ? random.between(1, send.maxParts) : 1
  const result: Buffer[] = []
  for (let i = 0; i < parts; i++) {
    const bytes = random.chance(0.1) ? 0 : random.skewed(1, send.maxBytes + 1) - 1
    const filler = pool(random, send.compressible, bytes)
    if (i > 0) {
      result.push(asContent(filler))
      continue
    }
    const first = Buffer.allocUnsafe(HEAD_BYTES + bytes)
    first.write(topicOf(head), 0, "latin1")
    first.writeUInt16LE(MAGIC, TOPIC_BYTES)
    first.writeUInt16LE(head.sender, TOPIC_BYTES + 2)
    first.writeUInt32LE(head.sequence, TOPIC_BYTES + 4)
    first.writeUInt16LE(head.to, TOPIC_BYTES + 8)
    first.writeUInt16LE(parts, TOPIC_BYTES + 10)
    filler.copy(first, HEAD_BYTES)
    result.push(first)
  }
  return result
}

/** Reads the head of a message; undefined if it is not a message of a run. */
export function readHead(parts: readonly Buffer[]): Head | undefined {
  const [first] = parts
  if (!first || first.length < HEAD_BYTES || first.readUInt16LE(TOPIC_BYTES) !== MAGIC)
    return undefined
  return {
    sender: first.readUInt16LE(TOPIC_BYTES + 2),
    sequence: first.readUInt32LE(TOPIC_BYTES + 4),
    to: first.readUInt16LE(TOPIC_BYTES + 8),
  }
}

/** Describes the difference between a message and the one that was sent; undefined if there is none. */
export function difference(
  author: Author,
  head: Head,
  parts: readonly Buffer[],
): string | undefined {
  const expected = build(author, head)
  if (parts.length !== expected.length)
    return `it has ${parts.length} parts in place of ${expected.length}`
  for (const [i, part] of expected.entries()) {
    const other = parts[i] as Buffer
    if (other.length !== part.length)
      return `part ${i} has ${other.length} bytes in place of ${part.length}`
    if (other.equals(part)) continue
    const at = part.findIndex((byte, at) => byte !== other[at])
    return `part ${i} of ${part.length} bytes differs from byte ${at} on`
  }
  return undefined
}
