import fc from "fast-check"
import { afterAll, describe, expect, test } from "vitest"
import { Codec, ProtocolError } from "zeromq-lz4/codec"

import { dictionaries, messages, mutations, plaintexts } from "../../support/arbitraries.js"
import { smallBlockSize, smallBlocks } from "../../support/small-blocks.js"
import { declaredSize, dictionaryPart, formOf } from "../../support/wire.js"

// A failure prints its seed and path; `{ seed, path }` here repeats it.
const options = { numRuns: 300 } satisfies fc.Parameters

const PART_CODES = new Set([
  "ERR_LZ4_PART_TOO_SHORT",
  "ERR_LZ4_UNKNOWN_SENTINEL",
  "ERR_LZ4_TRUNCATED",
  "ERR_LZ4_BLOCK_TOO_LARGE",
  "ERR_LZ4_BUDGET_EXCEEDED",
  "ERR_LZ4_IMPLAUSIBLE_SIZE",
  "ERR_LZ4_CORRUPT_BLOCK",
  "ERR_LZ4_SIZE_MISMATCH",
  "ERR_LZ4_TRAILING_BYTES",
  "ERR_LZ4_DICTIONARY_SIZE",
  "ERR_LZ4_DICTIONARY_REPEATED",
  "ERR_LZ4_ARENA",
])

describe.each([
  { build: "the usual build", wasm: {}, blockSize: 2 ** 30 },
  { build: "small blocks", wasm: { wasm: smallBlocks }, blockSize: smallBlockSize },
])("$build", ({ wasm, blockSize }) => {
  const codecs: Codec[] = []
  const createCodec = (more?: { dictionary?: Uint8Array; maxMessageSize?: number }): Codec => {
    const codec = Codec.createSync({ ...wasm, ...more })
    codecs.push(codec)
    return codec
  }
  afterAll(() => {
    for (const codec of codecs) codec.close()
  })

  test("a part round-trips", () => {
    const codec = createCodec()
    fc.assert(
      fc.property(plaintexts, (plain) => {
        expect(sameBytes(codec.decodePart(codec.encodePart(plain))!, plain)).toBe(true)
      }),
      options,
    )
  })

  test("a message round-trips, with any dictionary", () => {
    fc.assert(
      fc.property(dictionaries, fc.array(messages, { maxLength: 3 }), (dictionary, sent) => {
        using sender = Codec.createSync({ ...wasm, dictionary })
        using receiver = Codec.createSync(wasm)
        const received = sent
          .flatMap((message) => sender.encode(message))
          .flatMap((wire) => receiver.decode(wire))
        expect(received.length).toBe(sent.length)
        for (const [i, message] of sent.entries()) {
          expect(received[i]!.map((part) => part.length)).toEqual(
            message.map((part) => part.length),
          )
          expect(message.every((part, j) => sameBytes(received[i]![j]!, part))).toBe(true)
        }
      }),
      options,
    )
  })

  test("a part is sent plain if it is short or does not compress, as LZ4M if it is long", () => {
    const codec = createCodec()
    fc.assert(
      fc.property(plaintexts, (plain) => {
        const wire = codec.encodePart(plain)
        if (plain.length > blockSize) {
          expect(formOf(wire)).toBe("LZ4M")
        } else {
          expect(formOf(wire)).toBe(wire.length < plain.length + 4 ? "LZ4B" : "plain")
          expect(wire.length).toBeLessThanOrEqual(plain.length + 4)
          if (plain.length < 512) expect(formOf(wire)).toBe("plain")
        }
      }),
      options,
    )
  })

  test("any damage to a part gives the declared size or a ProtocolError", () => {
    const dictionary = new TextEncoder().encode('{"level":"info","service":"checkout"}'.repeat(4))
    const senders = [createCodec(), createCodec({ dictionary })]
    const good = new TextEncoder().encode("a good part ".repeat(100))

    fc.assert(
      fc.property(
        plaintexts,
        fc.boolean(),
        mutations,
        fc.constantFrom(undefined, 0, 1000, 1 << 20),
        (plain, withDictionary, mutate, maxMessageSize) => {
          const sender = senders[Number(withDictionary)]!
          using receiver = Codec.createSync({
            ...wasm,
            ...(maxMessageSize !== undefined && { maxMessageSize }),
          })
          if (withDictionary) receiver.decodePart(dictionaryPart(dictionary))

          const wire = mutate(sender.encodePart(plain))
          const outcome = attempt(() => receiver.decodePart(wire))
          if (outcome instanceof ProtocolError) expect(PART_CODES).toContain(outcome.code)
          else if (formOf(wire) === "LZ4D") expect(outcome).toBeUndefined()
          else expect(BigInt((outcome as Uint8Array).length)).toBe(declaredSize(wire))

          if (maxMessageSize === undefined || maxMessageSize >= good.length)
            expect(sameBytes(receiver.decodePart(sender.encodePart(good))!, good)).toBe(true)
        },
      ),
      { numRuns: 5000 },
    )
  })
})

/** Returns the result of `decode` or its ProtocolError; any other error fails the test. */
function attempt<T>(decode: () => T): T | ProtocolError {
  try {
    return decode()
  } catch (error) {
    if (error instanceof ProtocolError) return error
    throw error
  }
}

/** vitest's own comparison is too slow for thousands of arrays. */
const sameBytes = (a: Uint8Array, b: Uint8Array): boolean => Buffer.compare(a, b) === 0
