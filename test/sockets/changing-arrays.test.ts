/**
 * Messages in arrays whose length changes, or is not what it says. As over tcp://, what is sent is
 * the memory that they had when `send()` was called.
 */
import { describe, expect, test } from "vitest"
import { Pair } from "zeromq-lz4"

import { payload } from "../../bench/payloads.mjs"
import { join, use } from "../support/sockets.js"
import { transports } from "../support/transports.js"

class Longer extends Uint8Array {
  override get length() {
    return 1_000_000
  }
  override get byteLength() {
    return 1_000_000
  }
  override get byteOffset() {
    return 0
  }
}

/** A class of Buffers, which zeromq.js takes as any other. */
function buffer(bytes: Uint8Array, lies: PropertyDescriptorMap): Buffer {
  return Object.defineProperties(Buffer.from(bytes), lies)
}

const arrays: [string, (bytes: Uint8Array) => Uint8Array][] = [
  ["a subclass that says it is longer", (bytes) => new Longer(bytes)],
  ["a Buffer that says it is longer", (bytes) => buffer(bytes, { length: { value: 500_000 } })],
  ["a Buffer that says it is shorter", (bytes) => buffer(bytes, { length: { get: () => 3 } })],
  [
    "a Buffer with other views",
    (bytes) => buffer(bytes, { subarray: { value: () => Buffer.alloc(1_000_000, "secret") } }),
  ],
]

for (const transport of transports)
  describe(transport.name, () => {
    const open = async () => {
      const [sender, receiver] = [use(new Pair()), use(new Pair())]
      await join(receiver, sender, transport)
      return { sender, receiver }
    }

    test.each(arrays)("%s counts with its bytes", async (_, array) => {
      const { sender, receiver } = await open()
      for (const size of [10, 100, 1000, 20_000, 2_000_000]) {
        const bytes = payload("json", size)
        const random = payload("random", size)
        const message = [array(bytes), array(random), "end"]
        await sender.send("before")
        await sender.send(message)
        await sender.send(message[0] as Uint8Array)
        const received = [
          await receiver.receive(),
          await receiver.receive(),
          await receiver.receive(),
        ]
        expect(received[0]!.map(String)).toEqual(["before"])
        expect(received[1]!.map(({ length }) => length)).toEqual([size, size, 3])
        expect(received[1]![0]!.equals(bytes) && received[1]![1]!.equals(random)).toBe(true)
        expect(received[2]![0]!.equals(bytes)).toBe(true)
      }
    })

    test("memory that grows while the message is read is sent as it was at one time", async () => {
      const { sender, receiver } = await open()
      for (const size of [10, 1000, 100_000]) {
        const options = { maxByteLength: 4 * size }
        const memory: SharedArrayBuffer & { grow(bytes: number): void } = Reflect.construct(
          SharedArrayBuffer,
          [size, options],
        )
        const part = new Uint8Array(memory).fill(1)
        const message = Object.defineProperty([part], 1, {
          get() {
            memory.grow(4 * size)
            return "end"
          },
        })
        await sender.send(message)
        await sender.send("after")
        const [[first, end], [after]] = [await receiver.receive(), await receiver.receive()] as [
          [Buffer, Buffer],
          [Buffer],
        ]
        // libzmq's side reads the lengths after all parts, ours with each.
        expect([size, 4 * size]).toContain(first.length)
        expect([String(end), String(after)]).toEqual(["end", "after"])
        expect(first.every((byte, i) => byte === (i < size ? 1 : 0))).toBe(true)
      }
    })
  })
