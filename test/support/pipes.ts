/** Pipes without a network, whose written messages are kept as text. */
import { expect, onTestFinished } from "vitest"
import { Chunk } from "../../src/codec/chunk.js"
import type { ProtocolError } from "../../src/codec/errors.js"
import type { Settings } from "../../src/codec/options.js"
import type { Packing } from "../../src/codec/packing.js"
import type { Sender } from "../../src/codec/sender.js"
import { flushAll } from "../../src/patterns/flusher.js"
import {
  Pipe,
  type PipeConnection,
  type PipeEvents,
  type PipeOptions,
} from "../../src/patterns/pipe.js"
import type { SocketType, TypeOptions } from "../../src/patterns/socket-type.js"
import { ConnectionEncoding } from "../../src/transport/connection-encoding.js"
import { NetworkMeter } from "../../src/transport/network-meter.js"
import type {
  Encoding,
  MessageEncoder,
  MessageSink,
  Waiting,
} from "../../src/transport/transport.js"
import { bytesOfChunk } from "./chunks.js"
import { concat } from "./wire.js"
import { message as frames, greeting, messagesOf, parseStream } from "./zmtp.js"

export const parts = (text: string): Buffer[] =>
  text.split("|").map((part) => Buffer.from(part, "latin1"))

export const textOf = (message: readonly Uint8Array[]): string =>
  message.map((part) => Buffer.from(part).toString("latin1")).join("|")

/** An encoder that leaves frames unchanged. */
export class PlainSender implements MessageEncoder {
  readonly dictionaryFrame: undefined
  readonly packing: Packing = "parts"
  /** Number of calls of encode(). */
  encodings = 0
  plainBelow = () => 0

  encode(batch: Uint8Array, message?: readonly Uint8Array[]): Chunk {
    this.encodings++
    const bytes = message ? concat(batch, frames(...message)) : Uint8Array.from(batch)
    const { length } = bytes
    const messages = messagesOf(parseStream(concat(greeting(), bytes)).frames).length
    const content = {
      messages,
      plainBytes: length,
      wireBytes: length,
      dictionary: undefined,
      packing: "parts" as const,
    }
    return new Chunk(bytes, content, undefined, 0)
  }

  frame(message: readonly Uint8Array[]): Chunk {
    return this.encode(new Uint8Array(0), message)
  }

  forwards(): boolean {
    return false
  }

  accepts(_chunk: Chunk): boolean {
    return true
  }

  repack(chunk: Chunk): Chunk {
    return chunk
  }

  plainFrames(chunk: Chunk): Uint8Array {
    return chunk.bytes
  }

  share(): void {}

  close(): void {}
}

/** The state that a pipe's connection shares with its thread. */
export class FakeSharing {
  writeMs = 0
  hasPendingWrites = false
  /** The receive marks that were set. */
  readonly marks: number[] = []
}

/** The encoding of a connection whose network nobody measures. */
export class FakeEncoding implements Encoding {
  readonly trains = false
  readonly group: undefined
  readonly sender: MessageEncoder
  readonly common: MessageEncoder
  readonly network: NetworkMeter = new NetworkMeter()

  constructor(sender: MessageEncoder) {
    this.sender = sender
    this.common = sender
  }

  nextEffort(_group?: readonly unknown[]): number {
    return 1
  }

  sampled(): void {}

  encoded(_chunk: Chunk, _effort: number): void {}
}

/** Returns the encoding of a connection of a sender's endpoint. */
export function encodingOf(sender: Sender, settings: Settings): ConnectionEncoding {
  const encoding = new ConnectionEncoding(sender, settings, { effortChanged: () => {} })
  onTestFinished(() => encoding.close())
  return encoding
}

/** Returns the bytes that a connection writes before a chunk: the dictionary, once. */
export function shippedBefore({ dictionary }: Chunk, encoding: ConnectionEncoding): Uint8Array[] {
  if (!dictionary || encoding.shipped === dictionary) return []
  expect(encoding.shipped).toBeUndefined()
  encoding.shipped = dictionary
  return [dictionary]
}

/** The network's side of a pipe. */
export class FakeConnection implements PipeConnection {
  sink: MessageSink | undefined
  /** Messages, and commands with their data, in the order in which they were written. */
  readonly written: string[] = []
  readonly chunks: Chunk[] = []
  readonly rejected: ProtocolError[] = []
  peerTakesCommands = true
  packing: Packing = "parts"
  /** Number of further writes that there is room for. */
  room = Number.POSITIVE_INFINITY
  stops = 0
  resumes = 0

  get blocked(): boolean {
    return this.room <= 0
  }

  isUpToDate(): boolean {
    return false
  }

  sharing: FakeSharing | undefined

  get writeMs(): number {
    return this.sharing?.writeMs ?? 0
  }

  setMarks(receiveHighWaterMark: number): void {
    this.sharing?.marks.push(receiveHighWaterMark)
  }

  awaitPendingWrites(): boolean {
    return this.sharing?.hasPendingWrites ?? false
  }

  encoding: Encoding | undefined
  waiting: Waiting = { messages: 0, bytes: 0 }

  write(chunk: Chunk): void {
    this.room--
    this.chunks.push(chunk)
    const { frames } = parseStream(concat(greeting(), bytesOfChunk(chunk)))
    this.written.push(...messagesOf(frames).map(textOf))
  }

  sendCommand(name: string, data: Uint8Array): void {
    this.room--
    this.written.push(`${name} ${textOf([data])}`)
  }

  stop(): void {
    this.stops++
  }

  resume(): void {
    this.resumes++
  }

  flush(done: () => void): void {
    done()
  }

  reject(error: ProtocolError): void {
    this.rejected.push(error)
  }

  /** Makes room for this many further writes. */
  drain(writes = Number.POSITIVE_INFINITY): void {
    this.room = writes
    this.sink?.drained()
  }

  /** Returns the messages written since the last call. */
  take(): string[] {
    return this.written.splice(0)
  }
}

/** Handlers of a pipe's events that do nothing. */
export const silent: PipeEvents = {
  violation: undefined,
  readActivated: () => {},
  writeActivated: () => {},
  command: () => true,
  hiccuped: () => {},
  terminated: () => {},
}

export const noMarks: PipeOptions = {
  sendHighWaterMark: 0,
  receiveHighWaterMark: 0,
  conflate: false,
}

/** A pipe and its connection. A pipe that is `connected` later still has to be attached. */
export class Peer {
  readonly pipe: Pipe
  readonly connection: FakeConnection = new FakeConnection()

  constructor(events: PipeEvents, options: Partial<PipeOptions> = {}, sender = new PlainSender()) {
    this.pipe = new Pipe(events, sender, { ...noMarks, ...options })
  }

  attach(): this {
    this.pipe.attach(this.connection)
    return this
  }

  /** Receives a message from the peer. Returns whether more may follow. */
  says(text: string): boolean {
    return this.pipe.message(parts(text))
  }
}

export const usualOptions: TypeOptions = {
  mandatory: false,
  handover: false,
  probeRouter: false,
  correlate: false,
  relaxed: false,
  noDrop: false,
  manual: false,
  invertMatching: false,
  verbosity: "none",
  welcomeMessage: Buffer.alloc(0),
}

type Type = new (events: { readable(): void; writable(): void }, options: TypeOptions) => SocketType

/** A socket type with peers that come and go. */
export class Bench<T extends SocketType = SocketType> {
  readonly type: T
  readonly options: TypeOptions
  readonly told: string[] = []

  constructor(Type: Type, options: Partial<TypeOptions> = {}) {
    this.options = { ...usualOptions, ...options }
    const tell = (what: string) => () => {
      this.told.push(what)
    }
    const events = { readable: tell("readable"), writable: tell("writable") }
    this.type = new Type(events, this.options) as T
  }

  /** Adds a peer of a bound endpoint, whose handshake is over. */
  peer(options: Partial<PipeOptions> = {}, routingId = ""): Peer {
    const peer = new Peer(this.type, options, this.sender)
    peer.pipe.peerRoutingId = Buffer.from(routingId, "latin1")
    peer.attach()
    this.type.attach(peer.pipe)
    return peer
  }

  /** Adds the pipe of a connected endpoint, whose peer is not connected yet. */
  connect(options: Partial<PipeOptions> = {}, routingId?: string): Peer {
    const peer = new Peer(this.type, options, this.sender)
    peer.pipe.routingId = routingId
    this.type.attach(peer.pipe)
    return peer
  }

  readonly sender = new PlainSender()

  /** Sends a message. Returns the refusal, or undefined. */
  send(text: string): string | undefined {
    return this.type.send(parts(text), {})
  }

  /** Receives a message. Returns its text, or that of a refusal. */
  receive(): string {
    const message = this.type.receive()
    return typeof message === "string" ? message : textOf(message as Buffer[])
  }

  /** Receives all messages. */
  receiveAll(): string[] {
    const received: string[] = []
    for (let one = this.receive(); one !== "EAGAIN"; one = this.receive()) received.push(one)
    return received
  }
}

/** Waits for the end of the current burst, in which messages are collected, and of the rest after it. */
export const burst = (): Promise<void> =>
  new Promise((resolve) =>
    process.nextTick(() => {
      flushAll()
      resolve()
    }),
  )

/** Returns the messages of uncaught errors, until the end of the next burst. */
export async function uncaught(act: () => void): Promise<string[]> {
  const messages: string[] = []
  const listeners = process.listeners("uncaughtException")
  process.removeAllListeners("uncaughtException")
  process.on("uncaughtException", (error) => messages.push(error.message))
  try {
    act()
    await new Promise((resolve) => setImmediate(resolve))
  } finally {
    process.removeAllListeners("uncaughtException")
    for (const listener of listeners) process.on("uncaughtException", listener)
  }
  return messages
}
