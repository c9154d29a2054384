/**
 * The messages that both sides of an interop test send or expect. stream.py makes
 * the same messages in Python. Change both together.
 */
import { createHash } from "node:crypto"
import { createRandom } from "../../bench/random.mjs"
import { type Kind, plaintext } from "../support/plaintexts.js"
import { expectSameBytes } from "../support/same-bytes.js"

export interface Stream {
  /** Streams with different names have no common content. */
  name: string
  count: number
  singlePart?: boolean
  /** Minimum bytes of a part. Default: 0. */
  least?: number
  /** Maximum bytes of a part. Default: `LONGEST`. */
  most?: number
  /** Sizes of parts that are messages of their own, inserted from time to time. */
  large?: readonly number[]
  /** Sizes of the parts of every message. All messages are equal then. */
  alike?: readonly number[]
  /** First parts of the messages, used in turn. */
  topics?: readonly string[]
  /** Omits the messages whose topics have another prefix. */
  only?: string
}

/** One part of several blocks, which compresses well. */
export const OVER_A_GIBIBYTE: Stream = {
  name: "large",
  count: 1,
  singlePart: true,
  least: 2 ** 30 + 7,
  most: 2 ** 30 + 7,
}

/** Equal messages of several short parts, hundreds of which make an arena of a few bytes. */
export const alike = (parts: number): Stream => ({
  name: `${parts} parts`,
  count: 20_000,
  alike: Array(parts).fill(2),
})

/** The data that passed one side, for comparison with the other. */
export interface Summary {
  messages: number
  plainBytes: number
  sha256: string
}

const LONGEST = 300_000
/** Sizes around the thresholds and the maximum of short frames, and 0. */
const EDGES = [0, 1, 3, 4, 12, 127, 128, 251, 252, 255, 256, 511, 512, 513, LONGEST]
const PART_COUNTS = [1, 1, 1, 2, 3, 5]
/** The interval of large messages. */
const LARGE_EVERY = 2500
const KINDS: readonly Kind[] = ["text", "json", "random", "zeros"]

/** Bytes of a pool before it repeats: more than LZ4 looks back, and few, because each Python process makes them. */
const MADE_BYTES = 100_000

const pools = new Map<Kind, Uint8Array>()

function pool(kind: Kind): Uint8Array {
  const bytes = pools.get(kind) ?? Buffer.concat(Array(4).fill(plaintext(kind, MADE_BYTES)))
  pools.set(kind, bytes)
  return bytes
}

/** Returns `size` bytes of a pool, which is repeated. */
function piece(kind: Kind, start: number, size: number): Uint8Array {
  const bytes = pool(kind)
  const end = start + size
  if (end <= bytes.length) return bytes.subarray(start, end)
  const copies = Array(Math.ceil(end / bytes.length)).fill(bytes)
  return Buffer.concat(copies).subarray(start, end)
}

export function* messages(stream: Stream): Generator<Uint8Array[]> {
  const random = createRandom(stream.name)
  const { least = 0, most = LONGEST, large = [], alike } = stream
  const usualPart = () => {
    const kind = random.pick(KINDS)
    const edge = random.below(4) === 0
    const size = edge ? random.pick(EDGES) : random.below(LONGEST + 1) >> random.below(19)
    return piece(kind, random.below(100_001), Math.max(size % (most + 1), least))
  }
  const usual = () => {
    if (alike) return alike.map((size) => piece("zeros", 0, size))
    const partCount = stream.singlePart ? 1 : random.pick(PART_COUNTS)
    return Array.from({ length: partCount }, usualPart)
  }
  for (let i = 0; i < stream.count; i++) {
    const size =
      i % LARGE_EVERY === LARGE_EVERY - 1 && large[Math.floor(i / LARGE_EVERY) % large.length]
    const parts = size ? [piece(random.pick(KINDS), random.below(100_001), size)] : usual()
    const topic = stream.topics?.[i % stream.topics.length]
    if (topic === undefined) yield parts
    else if (topic.startsWith(stream.only ?? "")) yield [Buffer.from(topic), ...parts]
  }
}

class Summing {
  messages = 0
  #plainBytes = 0
  readonly #hash = createHash("sha256")

  add(parts: readonly Uint8Array[]): void {
    this.messages++
    this.#hash.update(uint32(parts.length))
    for (const part of parts) {
      this.#plainBytes += part.length
      this.#hash.update(uint32(part.length)).update(part)
    }
  }

  result(): Summary {
    const sha256 = this.#hash.digest("hex")
    return { messages: this.messages, plainBytes: this.#plainBytes, sha256 }
  }
}

function uint32(value: number): Uint8Array {
  const bytes = new Uint8Array(4)
  new DataView(bytes.buffer).setUint32(0, value, true)
  return bytes
}

export function summarize(stream: Stream): Summary {
  const summing = new Summing()
  for (const parts of messages(stream)) summing.add(parts)
  return summing.result()
}

export type Send = (parts: readonly Uint8Array[]) => Promise<void>
export type Receive = () => Promise<readonly Uint8Array[]>

/**
 * Returns a function that receives, with the next receive() always pending. A bound socket of zeromq.js only handles new
 * peers, and sends them its subscriptions, during a receive().
 */
export function receivingAhead(socket: { receive(): Promise<Uint8Array[]> }): Receive {
  const start = () => {
    const parts = socket.receive()
    parts.catch(() => {}) // the last one is pending when the socket is closed
    return parts
  }
  let next = start()
  return async () => {
    const parts = await next
    next = start()
    return parts
  }
}

/** Sends a whole stream. */
export async function sendAll(stream: Stream, send: Send): Promise<Summary> {
  const summing = new Summing()
  for (const parts of messages(stream)) {
    summing.add(parts)
    await send(parts)
  }
  return summing.result()
}

/** Receives a whole stream, and fails at the first different byte. */
export async function receiveAll(stream: Stream, receive: Receive): Promise<Summary> {
  const summing = new Summing()
  for (const expected of messages(stream)) {
    const parts = await receive()
    compare(parts, expected, summing.messages)
    summing.add(parts)
  }
  return summing.result()
}

/**
 * Sends a stream to a peer that returns it, and stays a few messages ahead of the replies. It must
 * not be more, because pyomq stops for good when both directions are full, over tcp:// too.
 */
export async function duplexAll(stream: Stream, send: Send, receive: Receive): Promise<Summary> {
  const ahead = messages(stream)
  const sendNext = async () => {
    const { value } = ahead.next()
    if (value) await send(value)
  }
  for (let i = 0; i < 50; i++) await sendNext()
  return await receiveAll(stream, async () => {
    const parts = await receive()
    await sendNext()
    return parts
  })
}

/** Sends a stream one message at a time, each after the previous reply. */
export async function askAll(stream: Stream, send: Send, receive: Receive): Promise<Summary> {
  const summing = new Summing()
  for (const expected of messages(stream)) {
    await send(expected)
    const parts = await receive()
    compare(parts, expected, summing.messages)
    summing.add(parts)
  }
  return summing.result()
}

/** Sends each message of a stream back, with the `envelope` parts that a ROUTER adds. */
export async function echoAll(
  stream: Stream,
  send: Send,
  receive: Receive,
  envelope = 0,
): Promise<Summary> {
  const summing = new Summing()
  for (const expected of messages(stream)) {
    const parts = await receive()
    compare(parts.slice(envelope), expected, summing.messages)
    summing.add(expected)
    await send(parts)
  }
  return summing.result()
}

function compare(
  parts: readonly Uint8Array[],
  expected: readonly Uint8Array[],
  index: number,
): void {
  const sizes = (all: readonly Uint8Array[]) => all.map(({ length }) => length).join(" + ")
  if (sizes(parts) !== sizes(expected))
    throw new Error(`message ${index}: ${sizes(parts)} bytes instead of ${sizes(expected)}`)
  for (const [i, part] of parts.entries()) expectSameBytes(part, expected[i] as Uint8Array)
}
