/** Memory that pipes keep: buffers of batches, and slabs with few queued chunks. */
import { expect, onTestFinished, test, vi } from "vitest"

import { type Chunk, ChunkBuilder } from "../../../src/codec/chunk.js"
import { checkLz4Options } from "../../../src/codec/options.js"
import type { Packing } from "../../../src/codec/packing.js"
import { Sender } from "../../../src/codec/sender.js"
import { takeFrames, writeOut } from "../../../src/patterns/exit-writes.js"
import { flushAll } from "../../../src/patterns/flusher.js"
import { Pipe } from "../../../src/patterns/pipe.js"
import { framerFor } from "../../../src/thread/framer.js"
import type { MessageEncoder } from "../../../src/transport/transport.js"
import { strictlyHeldBytes } from "../../support/held-bytes.js"
import { FakeConnection, noMarks, Peer, silent } from "../../support/pipes.js"
import { message as frames } from "../../support/zmtp.js"

const framer = framerFor({ format: "lz4" })

const MIB = 2 ** 20
/** Cuts chunks from slabs, as the encoders of endpoints do. */
class SlabSender implements MessageEncoder {
  readonly dictionaryFrame: undefined
  readonly packing: Packing = "parts"
  readonly #made = new ChunkBuilder()
  readonly plainBelow = () => 0

  encode(batch: Uint8Array, message?: readonly Uint8Array[]): Chunk {
    this.#made.begin()
    this.#made.append(batch)
    if (message) this.#made.append(frames(...message))
    return this.#made.end({
      messages: 1,
      plainBytes: 0,
      wireBytes: 0,
      dictionary: undefined,
      packing: "parts",
    })
  }

  frame(message: readonly Uint8Array[]): Chunk {
    return this.encode(new Uint8Array(0), message)
  }

  forwards(): boolean {
    return false
  }

  accepts(): boolean {
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

test("messages of 5 KB need no new memory for their batches", () => {
  const { pipe } = new Peer(silent)
  const send = () => {
    pipe.out.write([Buffer.alloc(5000)])
    flushAll()
  }
  send()
  const allocate = vi.spyOn(Buffer, "allocUnsafeSlow")
  onTestFinished(() => allocate.mockRestore())
  send()
  expect(allocate.mock.calls).toEqual([])
})

test("batches of closed pipes are not kept", async () => {
  const message = [Buffer.alloc(1000)]
  const before = await strictlyHeldBytes()
  const peers = Array.from({ length: 1000 }, () => new Peer(silent))
  for (const { pipe } of peers) for (let i = 0; i < 60; i++) pipe.out.write(message)
  expect((await strictlyHeldBytes()) - before).toBeGreaterThan(55 * MIB)
  for (const { pipe } of peers) pipe.close()
  peers.length = 0
  expect((await strictlyHeldBytes()) - before).toBeLessThan(8 * MIB)
})

test("a peer that matches one message in ten and does not read uses little more memory than its queue", () => {
  const sender = new SlabSender()
  const make = () => {
    const connection = new FakeConnection()
    const pipe = new Pipe(silent, sender, noMarks)
    pipe.attach(connection)
    return { pipe, connection }
  }
  const [reading, lazy] = [make(), make()]
  lazy.connection.room = 0
  const held: Chunk[] = []
  reading.connection.write = (chunk) => chunk.release()
  lazy.connection.write = (chunk) => held.push(chunk)
  const fill = (byte: number) => [Buffer.alloc(33_000, byte)]
  for (let i = 0; i < 5000; i++) {
    reading.pipe.out.write(fill(i))
    if (i % 10 === 0) lazy.pipe.out.write(fill(i))
    reading.pipe.drained()
  }
  lazy.connection.drain()
  let waited = 0
  const memory = new Set<ArrayBufferLike>()
  for (const { bytes } of held) {
    waited += bytes.length
    memory.add(bytes.buffer)
  }
  expect(waited).toBeGreaterThan(500 * 33_000)
  const heldBytes = [...memory].reduce((sum, { byteLength }) => sum + byteLength, 0)
  expect(heldBytes).toBeLessThan(2 * waited)
  // Moved chunks are unchanged.
  const all = Buffer.concat(held.map(({ bytes }) => bytes))
  const expected = Array.from({ length: 500 }, (_, i) => frames(...fill(i * 10)))
  expect(all.equals(Buffer.concat(expected))).toBe(true)
})

test.each([
  { encoder: new Sender(checkLz4Options({}, -1)), thread: false },
  { encoder: framer, thread: true },
])("at exit, messages whose memory has gone are left out (thread: $thread)", ({ encoder }) => {
  const pipe = new Pipe(silent, encoder, noMarks)
  const [kept, lost, last] = [Buffer.alloc(70_000, 1), Buffer.alloc(70_000, 2), Buffer.from("last")]
  for (const part of [kept, lost, last]) pipe.out.write([part])
  structuredClone(lost.buffer, { transfer: [lost.buffer] })
  expect(
    Buffer.concat(takeFrames(pipe.out)).equals(Buffer.concat([frames(kept), frames(last)])),
  ).toBe(true)
})

test.each([
  { encoder: new Sender(checkLz4Options({ level: "none" }, -1)), thread: false },
  { encoder: framer, thread: true },
])("at exit, the others of a connection are written (thread: $thread)", ({ encoder, thread }) => {
  const pipe = new Pipe(silent, encoder, noMarks)
  const connection = new FakeConnection()
  if (thread) connection.packing = "frames"
  connection.room = 0
  pipe.attach(connection)
  const [kept, lost, last] = ["1", "2", "3"].map((text) => Buffer.alloc(70_000, text))
  for (const part of [kept, lost, last]) pipe.out.write([part as Buffer])
  const { buffer } = lost as Buffer
  structuredClone(buffer, { transfer: [buffer as ArrayBuffer] })
  writeOut(pipe.out)
  expect(connection.written.map((text) => text.at(-1))).toEqual(["1", "3"])
})
