/** Receives each example of RFC.md on a connection, split at every position into two reads. */
import type { Socket } from "node:net"
import { setImmediate as turn } from "node:timers/promises"
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest"

import { createRandom } from "../../bench/random.mjs"
import { checkLz4Options } from "../../src/codec/options.js"
import { Sender } from "../../src/codec/sender.js"
import type { Channel } from "../../src/transport/channel.js"
import { Connection } from "../../src/transport/connection.js"
import { isIdle } from "../../src/transport/read-turns.js"
import type { FrameRelaySink } from "../../src/transport/transport.js"
import { FrameReader } from "../../src/zmtp/frame-reader.js"
import { deliveredIn, type Example, isReceived, named, streamOf } from "../support/rfc.js"
import { concat, plainPart } from "../support/wire.js"
import { greeting, MORE, message } from "../support/zmtp.js"

/** Longer streams are split at positions near their ends, and at some others; very long ones at fewer. */
const SHORT_BYTES = 300
const LONG_BYTES = 100_000

beforeEach(async () => {
  // No time passes, so that reading never waits for the next turn.
  vi.spyOn(performance, "now").mockReturnValue(performance.now())
  while (!isIdle()) await turn()
})

afterEach(() => {
  vi.restoreAllMocks()
})

/** A socket that nothing is read from, and that accepts all writes. */
const socket = {
  writableNeedDrain: false,
  writableLength: 0,
  pause() {},
  resume() {},
  isPaused: () => false,
  write() {},
  end() {},
  destroy() {},
} as unknown as Socket

/** A receiver that records what it delivers, and the error with which it closes. */
class Receiver implements FrameRelaySink {
  readonly waitsToSend = false
  readonly isBehind = false
  readonly told: string[] = []
  readonly room = Number.POSITIVE_INFINITY
  readonly #connection: Connection
  readonly #frames = new FrameReader()
  #parts: Buffer[] = []

  /** @param relays whether the connection is on a thread, which passes on frames. */
  constructor({ budget }: Example, relays: boolean) {
    const settings = checkLz4Options({}, budget ?? -1)
    const options = {
      settings,
      sender: new Sender(settings),
      handshake: {
        socketType: "PULL" as const,
        mechanism: "NULL" as const,
        plainServer: false,
        username: new Uint8Array(),
        password: new Uint8Array(),
        routingId: new Uint8Array(),
        authenticate: false,
        formats: ["lz4"] as const,
        revision: 2,
      },
      handshakeMs: 0,
      heartbeat: { intervalMs: 0, timeoutMs: 0, timeToLive: 0 },
      relays,
      acceptsPlain: false,
    }
    const channel = { socket, handlers: {} } as unknown as Channel
    this.#connection = new Connection(channel, options, (event) => {
      if (event.type === "ready") event.connection.sink = this
      else if (event.type === "failed") this.told.push(event.error.code)
      else if (event.type === "closed" && event.error) this.told.push(event.error.message)
    })
  }

  data(bytes: Uint8Array): void {
    this.#connection.data(new Uint8Array(bytes))
  }

  close(): void {
    this.#connection.closed()
  }

  message(parts: Buffer[]): boolean {
    this.told.push(shown(parts))
    return true
  }

  frames(piece: Uint8Array): boolean {
    this.#frames.read(piece, 0, this)
    return true
  }

  head(): void {}

  frame(flags: number, body: Buffer): boolean {
    this.#parts.push(body)
    if (flags & MORE) return true
    const parts = this.#parts
    this.#parts = []
    return this.message(parts)
  }

  body(flags: number, body: Buffer): boolean {
    return this.frame(flags, body)
  }

  command(): boolean {
    return true
  }

  drained(): void {}
}

const shown = (parts: readonly Uint8Array[]): string =>
  parts.length > 100
    ? `${parts.length} parts`
    : parts.map((part) => Buffer.from(part).toString("hex")).join(" | ")

function splitsOf(name: string, bytes: number): number[] {
  if (bytes <= SHORT_BYTES) return Array.from({ length: bytes }, (_, i) => i)
  const random = createRandom(name)
  const [length, others] = bytes <= LONG_BYTES ? [40, 10] : [4, 2]
  const ends = Array.from({ length }, (_, i) => [i, bytes - 1 - i])
  return [...ends.flat(), ...Array.from({ length: others }, () => random.below(bytes))]
}

/** A message that fits every budget. */
const END = message(plainPart(new Uint8Array()))

describe.each([
  ["messages", false],
  ["frames", true],
] as const)("received as %s", (_, relays) => {
  test.each(named((example) => isReceived(example) && example.socket === undefined))(
    "%s",
    (name, example) => {
      const { error } = example
      const stream = concat(streamOf(example), error ? new Uint8Array() : END)
      const expected = [...deliveredIn(example).map(shown), error ?? ""]
      for (const at of splitsOf(name, stream.length)) {
        const receiver = new Receiver(example, relays)
        receiver.data(concat(greeting(), stream.subarray(0, at)))
        receiver.data(stream.subarray(at))
        const told = receiver.told.slice()
        receiver.close()
        expect(told, `split at ${at}`).toEqual(expected)
      }
    },
  )
})
