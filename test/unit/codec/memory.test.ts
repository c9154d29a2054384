/** A codec frees its memory, and works again after running out of memory. */
import { describe, expect, test } from "vitest"

import { type Child, inChild } from "../../support/child.js"
import type { Memory } from "../../support/child-main.mjs"

const MIB = 1 << 20

/**
 * Returns the memory in use after each of several equal rounds of work. The first two fill pools and
 * let the engine compile. A leak shows in all later rounds, whereas the engine may keep garbage of a
 * single one.
 */
function expectFlat(rounds: Memory[]): void {
  const [, first, ...others] = rounds as [Memory, Memory, ...Memory[]]
  const left = (kind: keyof Memory) => Math.min(...others.map((round) => round[kind])) - first[kind]
  expect(others.length).toBeGreaterThan(1)
  expect(others.at(-1)!.wasm - first.wasm, "wasm memory").toBe(0)
  expect(left("heap"), "heap").toBeLessThan(MIB)
  expect(left("arrayBuffers"), "array buffers").toBeLessThan(MIB)
  // The engine's own pools vary.
  expect(left("rss"), "resident memory").toBeLessThan(64 * MIB)
}

describe("memory stays flat after", () => {
  test("memory stays flat after ten thousand codecs", async () => {
    const rounds = await inChild(async ({ Codec, memory, fillWasmMemory }: Child) => {
      fillWasmMemory()
      const plain = new Uint8Array(600).fill(7)
      const rounds = []
      for (let round = 0; round < 4; round++) {
        for (let i = 0; i < 10_000; i++) {
          const codec = Codec.createSync({ maxMessageSize: i + 600 })
          codec.decodePart(codec.encodePart(plain))
          codec.close()
        }
        rounds.push(await memory())
      }
      return rounds
    })
    expectFlat(rounds)
  })

  test("twenty thousand codecs with different dictionaries in both directions", async () => {
    const rounds = await inChild(async ({ Codec, memory, fillWasmMemory }: Child) => {
      fillWasmMemory()
      const rounds = []
      for (let round = 0; round < 4; round++) {
        for (let i = 0; i < 5000; i++) {
          const dictionary = new Uint8Array(8192).fill(i % 251)
          new DataView(dictionary.buffer).setUint32(0, i + round * 5000)
          const sender = Codec.createSync({ dictionary })
          const receiver = Codec.createSync()
          for (const message of sender.encode([dictionary.subarray(100, 800)]))
            receiver.decode(message)
          receiver.close()
          sender.close()
        }
        rounds.push(await memory())
      }
      return rounds
    })
    expectFlat(rounds)
  })

  test("memory stays flat after ten thousand codecs open at the same time", async () => {
    const { rounds, perCodec } = await inChild(async ({ Codec, memory, fillWasmMemory }: Child) => {
      fillWasmMemory()
      const dictionary = new Uint8Array(8192).fill(1)
      const start = await memory()
      const rounds = []
      // A separate function, because the frame of one that awaits memory() may reference the codecs.
      const work = () => {
        const codecs = Array.from({ length: 10_000 }, (_, i) =>
          Codec.createSync(i % 2 === 0 ? { dictionary } : {}),
        )
        for (const codec of codecs) codec.decode(codec.encode([dictionary])[0] as Uint8Array[])
        for (const codec of codecs) codec.close()
      }
      for (let round = 0; round < 4; round++) {
        work()
        rounds.push(await memory())
      }
      return { rounds, perCodec: ((rounds[0]?.wasm ?? 0) - start.wasm) / 10_000 }
    })
    expectFlat(rounds)
    // One copy of the dictionary for all.
    expect(perCodec).toBeLessThan(200)
  })

  test("a million calls on one codec", async () => {
    const rounds = await inChild(async ({ Codec, memory, fillWasmMemory }: Child) => {
      fillWasmMemory()
      const dictionary = new TextEncoder().encode("a few words that are said again ".repeat(20))
      const codec = Codec.createSync({ dictionary })
      const parts = [0, 20, 100, 300, 900].map((length) =>
        Uint8Array.from({ length }, (_, i) => dictionary[(i * 7) % dictionary.length] as number),
      )
      for (const message of codec.encode(parts)) codec.decode(message)
      const rounds = []
      for (let round = 0; round < 5; round++) {
        for (let i = 0; i < 100_000; i++) {
          const plain = parts[i % parts.length] as Uint8Array
          if (codec.decodePart(codec.encodePart(plain))!.length !== plain.length)
            throw Error("lost")
        }
        rounds.push(await memory())
      }
      return rounds
    })
    expectFlat(rounds)
  })

  test("memory stays flat after ten thousand parts that do not decode, and as many wrong arguments", async () => {
    const rounds = await inChild(
      async ({ Codec, ProtocolError, memory, fillWasmMemory }: Child) => {
        fillWasmMemory()
        const codec = Codec.createSync({ maxMessageSize: 100_000 })
        const head = (letter: number, size: number) =>
          Uint8Array.of(0x4c, 0x5a, 0x34, letter, size, size >> 8, size >> 16, 0, 0, 0, 0, 0)
        const parts = [
          [1, 2, 3],
          [0x4c, 0x5a, 0x34, 0x42],
          [0x4c, 0x5a, 0x34, 0x44],
          [...head(0x42, 100_001), ...new Array(500).fill(1)],
          [...head(0x42, 100_000), 1],
          [...head(0x42, 90_000), ...new Array(500).fill(1)],
          [...head(0x42, 200), 0x30, 1, 2, 3],
          [...head(0x4d, 90_000), 0xf4, 1, 0, 0, ...new Array(500).fill(1)],
          [...head(0x4d, 3), 4, 0, 0, 0, 0x30, 1, 2, 3, 4],
          [...head(0x4d, 3), 5, 0, 0, 0, 0x30, 1, 2, 3],
        ].map((bytes) => Uint8Array.from(bytes))
        const rounds = []
        for (let round = 0; round < 4; round++) {
          for (let i = 0; i < 3000; i++) {
            const part = parts[i % parts.length] as Uint8Array
            for (const [type, call] of [
              [ProtocolError, () => codec.decode([new Uint8Array(4), part])],
              [TypeError, () => codec.encode([part, "text" as unknown as Uint8Array])],
              [RangeError, () => Codec.createSync({ dictionary: new Uint8Array(8193) })],
            ] as const) {
              let thrown: unknown
              try {
                call()
              } catch (error) {
                thrown = error
              }
              if (!(thrown instanceof type)) throw Error(`part ${i % parts.length}: ${thrown}`)
            }
          }
          rounds.push(await memory())
        }
        return rounds
      },
    )
    expectFlat(rounds)
  })

  test("five thousand captures that failed, were truncated or were aborted", async () => {
    const rounds = await inChild(
      async ({ CaptureReader, Codec, memory, fillWasmMemory }: Child) => {
        fillWasmMemory()
        const greeting = new Uint8Array(64)
        greeting.set([0xff, 0, 0, 0, 0, 0, 0, 0, 1, 0x7f, 3, 1, 0x4e, 0x55, 0x4c, 0x4c])
        const frame = (part: Uint8Array) => [
          Uint8Array.of(2, 0, 0, 0, 0, 0, 0, part.length >> 8, part.length),
          part,
        ]
        const rounds = []
        for (let round = 0; round < 4; round++) {
          for (let i = 0; i < 1250; i++) {
            const dictionary = new Uint8Array(2000).fill(i % 251)
            new DataView(dictionary.buffer).setUint32(0, i + round * 1250)
            const codec = Codec.createSync({ dictionary })
            const parts = codec.encode([dictionary.subarray(0, 900)]).flat()
            codec.close()
            const reader = new CaptureReader(i % 2 === 0 ? { dictionary } : {})
            reader.push(greeting)
            const events = reader.push(Buffer.concat(parts.flatMap(frame)))
            if (events.length !== 2) throw Error(`${events.length} events`)
            // A frame that is not allowed, and the beginning of one that never ends.
            if (i % 3 > 0) reader.push(Uint8Array.of(0x80, 2, 0, 0, 0, 0, 1, 0, 0, 0, 0, 7))
            if (i % 3 > 1) reader.end()
            else reader.close()
            try {
              new CaptureReader().push(new Uint8Array(100))
            } catch (error) {
              if ((error as Error).name !== "CaptureFormatError") throw error
            }
          }
          rounds.push(await memory())
        }
        return rounds
      },
    )
    expectFlat(rounds)
  })

  test("memory stays flat after large parts", async () => {
    const rounds = await inChild(async ({ Codec, memory, fillWasmMemory }: Child) => {
      fillWasmMemory()
      const codec = Codec.createSync()
      const plain = new Uint8Array(20 << 20).fill(7)
      const rounds = []
      for (let round = 0; round < 4; round++) {
        for (let i = 0; i < 5; i++) codec.decodePart(codec.encodePart(plain))
        rounds.push(await memory())
      }
      return rounds
    })
    expectFlat(rounds)
  })
})

test("large parts in one turn of the event loop share an instance of the module for each size", async () => {
  const made = await inChild(({ Codec, instancesMade }: Child) => {
    const codec = Codec.createSync()
    const moderate = new Uint8Array(2 << 20).fill(7)
    const large = new Uint8Array(34 << 20).fill(7)
    const before = instancesMade()
    for (let i = 0; i < 25; i++) {
      codec.decodePart(codec.encodePart(moderate))
      codec.decodePart(codec.encodePart(large))
    }
    return instancesMade() - before
  })
  expect(made).toBe(2)
})

test("large parts of both formats in turns share an instance of each module", async () => {
  const made = await inChild(({ Codec, instancesMade }: Child) => {
    const codecs = [Codec.createSync(), Codec.createSync({ format: "zstd" })]
    const plain = new Uint8Array(2 << 20).fill(7)
    const before = instancesMade()
    for (let i = 0; i < 25; i++)
      for (const codec of codecs) codec.decodePart(codec.encodePart(plain))
    return instancesMade() - before
  })
  expect(made).toBe(2)
})

test("views of the memory are renewed when it grows", async () => {
  const { grown, wrong } = await inChild(async ({ Codec, sharedExports }: Child) => {
    const bytes = (length: number, seed: number) =>
      Uint8Array.from({ length }, (_, i) => (i * seed + (i >> 5)) & 0xff)
    const same = (a: Uint8Array, b: Uint8Array) => Buffer.compare(a, b) === 0
    const size = () => sharedExports().memory.buffer.byteLength

    const codec = Codec.createSync({ minCompressSize: 0 })
    const open = []
    const wrong: string[] = []
    let grown = 0
    let before = size()
    for (let i = 0; grown < 5; i++) {
      const small = bytes(100 + (i % 500), i)
      const wire = codec.encodePart(small)
      // Sending with a dictionary uses 24 KiB of wasm memory, so this makes it grow at some point.
      const dictionary = bytes(8192, 2 * i + 1)
      new DataView(dictionary.buffer).setUint32(0, i)
      const other = Codec.createSync({ dictionary })
      const receiver = Codec.createSync()
      open.push(other)
      for (const message of other.encode([dictionary])) {
        const [result] = receiver.decode(message)
        if (result && !same(result[0] as Uint8Array, dictionary)) wrong.push(`dictionary ${i}`)
      }
      receiver.close()
      if (!same(codec.decodePart(wire)!, small)) wrong.push(`small ${i}`)
      const now = size()
      if (now > before) grown++
      before = now
      // Small parts that fit are followed by one for which the scratch region has to grow.
      if (i % 100 === 0) {
        const larger = bytes(1000 * i + 1, 3)
        if (!same(codec.decodePart(codec.encodePart(larger))!, larger)) wrong.push(`larger ${i}`)
      }
    }
    for (const other of open) other.close()
    return { grown, wrong }
  })
  expect(grown).toBe(5)
  expect(wrong).toEqual([])
})

test("addresses above 2 GiB are not negative", async () => {
  const results = await inChild(({ Codec, sharedExports }: Child) => {
    const dictionary = new Uint8Array(8192).map((_, i) => (i * i) >> 3)
    const large = new Uint8Array(2 << 20)
    for (let at = 0; at < large.length; at += 1 << 15) large.set(dictionary, at)
    const parts = [dictionary, large]
    // Codecs are closed, so that the dictionary is opened again each time, wherever there is room.
    const encode = () => {
      const sender = Codec.createSync({ dictionary })
      const messages = sender.encode(parts)
      sender.close()
      return messages
    }
    const decode = (wire: Uint8Array[][]) => {
      const receiver = Codec.createSync()
      const decoded = wire.flatMap((message) => receiver.decode(message)).flat()
      receiver.close()
      return decoded
    }
    const before = encode()
    // Reserves memory that is never touched, then allocates all that is left below it.
    sharedExports().zl_scratch(1, 2.5 * 2 ** 30)
    const fill = (i: number) => new Uint8Array(8192).fill(i).map((n, at) => n + ((at * i) >> 8))
    const open = Array.from({ length: 1000 }, (_, i) => Codec.createSync({ dictionary: fill(i) }))
    const after = encode()
    const results = [decode(before), decode(after)].map((decoded) =>
      parts.map((part, i) => Buffer.compare(part, decoded[i] as Uint8Array) === 0),
    )
    for (const codec of open) codec.close()
    const [one, other] = [before, after].map((messages) => Buffer.concat(messages.flat()))
    return { results, sameWire: Buffer.compare(one as Buffer, other as Buffer) === 0 }
  })
  expect(results).toEqual({ results: Array(2).fill([true, true]), sameWire: true })
})

test("a part larger than the memory at the start", async () => {
  const lengths = await inChild(({ Codec, sharedExports }: Child) => {
    const codec = Codec.createSync()
    const initial = sharedExports().memory.buffer.byteLength
    const plain = new Uint8Array(initial + 1).map((_, i) => (i >> 7) & 0xff)
    const small = new Uint8Array(1000).fill(5)
    return [plain, small, plain, small].map((part) => {
      const wire = codec.encodePart(part)
      return Buffer.compare(codec.decodePart(wire)!, part) === 0 && wire.length < part.length
    })
  })
  expect(lengths).toEqual([true, true, true, true])
})

describe("running out of memory gives a RangeError, and the codec works afterwards", () => {
  interface Outcome {
    name: string
    code: string
    message: string
    afterwards: boolean
  }
  const expectOutOfMemory = (outcome: Outcome, ...says: string[]) => {
    expect(outcome).toMatchObject({ name: "RangeError", code: "ERR_LZ4_OUT_OF_MEMORY" })
    for (const words of ["out of memory", ...says]) expect(outcome.message).toContain(words)
    expect(outcome.afterwards).toBe(true)
  }

  test("if a result is larger than the maximum array", async () => {
    const outcome = await inChild(({ Codec, smallBlocks }: Child) => {
      const codec = Codec.createSync({ wasm: smallBlocks() })
      const plain = new Uint8Array(1000).fill(7)
      // An LZ4M part of a gigabyte, which could hold 255. Its first blocks are valid, so the result
      // is allocated; the rest is never read, and the operating system need not provide it.
      const wire = new Uint8Array(2 ** 30)
      wire.set(codec.encodePart(new Uint8Array(3 * 65_536)))
      new DataView(wire.buffer).setBigUint64(4, BigInt(255 * (wire.length - 12)), true)
      try {
        codec.decodePart(wire)
      } catch (error) {
        const { name, code, message } = error as Outcome
        const again = codec.decodePart(codec.encodePart(plain))!
        return { name, code, message, afterwards: Buffer.compare(again, plain) === 0 }
      }
      throw new Error("255 GiB were there")
    })
    expectOutOfMemory(outcome, `${255 * (2 ** 30 - 12)} bytes`)
  })

  test("if a large part finds no memory, in either direction", async () => {
    const { encoding, decoding } = await inChild(async ({ Codec, memory }: Child) => {
      const { setFlagsFromString } = process.getBuiltinModule("node:v8")
      const codec = Codec.createSync()
      const plain = new Uint8Array(100 << 20).fill(7)
      const wire = codec.encodePart(plain)
      const outOfMemory = (work: () => unknown) => {
        try {
          work()
        } catch (error) {
          const { name, code, message } = error as Outcome
          const moderate = plain.subarray(0, 2 << 20)
          const part = codec.decodePart(codec.encodePart(moderate))!
          const afterwards = Buffer.compare(part, moderate) === 0
          return { name, code, message, afterwards }
        }
        throw new Error("there was memory")
      }
      await memory() // the instance that made it is collected
      // From now on, an instance has at most 64 MiB.
      setFlagsFromString("--wasm-max-mem-pages=1024")
      return {
        encoding: outOfMemory(() => codec.encodePart(plain)),
        decoding: outOfMemory(() => codec.decodePart(wire)),
      }
    })
    expectOutOfMemory(encoding, `${100 * MIB} bytes`)
    expectOutOfMemory(decoding, `${100 * MIB} bytes`)
  })

  test("if the module's memory is full of dictionaries", async () => {
    const outcomes = await inChild(({ Codec, sharedExports }: Child) => {
      const plain = new Uint8Array(1000).fill(7)
      const first = Codec.createSync({ maxMessageSize: 1 << 20 })
      first.decodePart(first.encodePart(plain))
      // Most of the 4 GiB, reserved and never touched.
      for (let left = 4096 - 10; left > 0; left -= 1)
        if (sharedExports().zl_scratch(1, left * 2 ** 20) !== 0) break

      const open: { close(): void }[] = []
      const outOfMemory = (work: (i: number) => void) => {
        for (let i = 0; i < 10_000; i++) {
          try {
            work(i)
          } catch (error) {
            const { name, code, message } = error as Outcome
            const part = first.decodePart(first.encodePart(plain))!
            const afterwards = Buffer.compare(part, plain) === 0
            return { name, code, message, afterwards }
          }
        }
        throw new Error("memory has no end")
      }
      const dictionary = (i: number) =>
        new Uint8Array(8192).fill(i).map((n, at) => n + ((at * i) >> 8))
      const outcomes = {
        sending: outOfMemory((i) => {
          open.push(Codec.createSync({ dictionary: dictionary(i) }))
        }),
        receiving: outOfMemory((i) => {
          const codec = Codec.createSync()
          open.push(codec)
          const wire = new Uint8Array(4 + 8192)
          wire.set([0x4c, 0x5a, 0x34, 0x44])
          wire.set(dictionary(i + 10_000), 4)
          codec.decodePart(wire)
        }),
        opening: outOfMemory(() => {
          for (let i = 0; i < 100; i++) open.push(Codec.createSync())
        }),
      }
      // Freed memory can be allocated again.
      for (const codec of open) codec.close()
      const sender = Codec.createSync({ dictionary: dictionary(1) })
      const receiver = Codec.createSync()
      const parts = [plain, dictionary(1)]
      const [decoded] = sender.encode(parts).flatMap((message) => receiver.decode(message))
      const same = parts.map((part, i) => Buffer.compare(part, decoded?.[i] as Uint8Array) === 0)
      return { ...outcomes, same }
    })
    expectOutOfMemory(outcomes.sending, "a dictionary")
    expectOutOfMemory(outcomes.receiving, "a dictionary")
    expectOutOfMemory(outcomes.opening, "a codec")
    expect(outcomes.same).toEqual([true, true])
  })
})
