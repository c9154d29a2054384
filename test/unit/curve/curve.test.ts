/** libsodium's boxes in WebAssembly, and the MESSAGE commands of CURVE (RFC 26). */
import { createPrivateKey, createPublicKey, diffieHellman } from "node:crypto"
import * as fc from "fast-check"
import { describe, expect, test } from "vitest"
import { CipherError, type SealedDirection } from "../../../src/curve/cipher.js"
import { Opener } from "../../../src/curve/opener.js"
import { newKeyPair } from "../../../src/curve/random.js"
import { Sealer } from "../../../src/curve/sealer.js"
import { curve, someBytes } from "../../support/curve.js"
import { flipped } from "../../support/flipped.js"
import { lowOrderPoints, printed, vector } from "../../support/libsodium.js"
import { concat } from "../../support/wire.js"
import { COMMAND, frame, frameHead, MORE } from "../../support/zmtp.js"

const hex = (bytes: Uint8Array | undefined) => bytes && Buffer.from(bytes).toString("hex")

describe("libsodium's published vectors", () => {
  const alice = vector("scalarmult", "alicesk")
  const bob = vector("scalarmult", "bobsk")

  test("public keys are libsodium's", () => {
    expect(hex(curve.publicKey(alice))).toBe(hex(vector("scalarmult6", "alicepk_")))
    expect(hex(curve.publicKey(bob))).toBe(hex(vector("box", "bobpk")))
  })

  test("a box is libsodium's", () => {
    const key = curve.sharedKey(vector("box", "bobpk"), vector("box", "alicesk"))
    const nonce = vector("box", "nonce")
    const plain = vector("box", "m").subarray(32)
    // It prints the box twice, made in two ways.
    const expected = printed("box")
    const box = curve.box(key as Uint8Array, nonce, plain)
    expect(hex(box)).toBe(hex(expected.subarray(0, box.length)))
    expect(expected.length).toBe(2 * box.length)
    expect(hex(curve.open(key as Uint8Array, nonce, box))).toBe(hex(plain))
  })

  test("a secret box is libsodium's", () => {
    const nonce = vector("secretbox", "nonce")
    const plain = vector("secretbox", "m").subarray(32)
    const box = curve.box(vector("secretbox", "firstkey"), nonce, plain)
    expect(hex(box)).toBe(hex(printed("secretbox").subarray(0, box.length)))
  })

  test("points of low order are refused, the highest bit set or not", () => {
    const points = lowOrderPoints()
    expect(points).toHaveLength(7)
    for (const point of points) {
      expect(curve.sharedKey(point, alice)).toBeUndefined()
      expect(curve.sharedKey(flipped(point, 31, 0x80), alice)).toBeUndefined()
    }
  })
})

/** Returns a key of X25519 from its bytes (RFC 8410). */
function privateKeyOf(bytes: Uint8Array) {
  const head = Buffer.from("302e020100300506032b656e04220420", "hex")
  return createPrivateKey({ key: Buffer.concat([head, bytes]), format: "der", type: "pkcs8" })
}

test("X25519 gives the same as Node's", () => {
  for (let i = 0; i < 20; i++) {
    const ours = newKeyPair(curve)
    // Not generateKeyPairSync(): Node 20 waits for ever if it collects one of its keys while it exports it.
    const d = someBytes(32)
    const privateKey = privateKeyOf(d)
    const { x = "" } = createPublicKey(privateKey).export({ format: "jwk" })
    const publicKey = Buffer.from(x, "base64url")
    const b64 = (bytes: Uint8Array) => Buffer.from(bytes).toString("base64url")
    const jwk = { kty: "OKP", crv: "X25519", x: b64(ours.publicKey), d: b64(ours.secretKey) }
    const point = diffieHellman({
      privateKey,
      publicKey: createPublicKey({ key: jwk, format: "jwk" }),
    })
    expect(
      createPublicKey(createPrivateKey({ key: jwk, format: "jwk" })).export({ format: "jwk" }).x,
    ).toBe(jwk.x)
    // Ours is HSalsa20 of that point, which is the first step of a box whose key is the point.
    const shared = curve.sharedKey(publicKey, ours.secretKey) as Uint8Array
    expect(hex(shared)).toBe(hex(curve.sharedKey(ours.publicKey, d)))
    expect(point).toHaveLength(32)
    const counter = someBytes(8)
    expect(hex(curve.box(point, concat(new Uint8Array(16), counter), new Uint8Array(99)))).toBe(
      hex(sealWithKey(shared, counter, 99)),
    )
  }

  /** Seals zeros with the key that HSalsa20 made already: a message's cipher does without it. */
  function sealWithKey(key: Uint8Array, counter: Uint8Array, length: number): Uint8Array {
    const { instance } = curve
    const { exports } = instance
    const at = exports.zl_scratch(0, 4096)
    // The first word of a zl_cipher is its key.
    const cipher = exports.zl_cipher_open(at, 0, 0, 0)
    instance.bytes.set(key, cipher)
    const value = new DataView(counter.buffer, counter.byteOffset).getBigUint64(0) - 1n
    new DataView(exports.memory.buffer).setBigUint64(cipher + 32, value, true)
    const prefix = exports.zl_seal_begin(cipher, 0, length - 1, 0, at)
    const sealed = instance.view(at, prefix).slice()
    instance.view(at, length - 1).fill(0)
    exports.zl_seal_piece(at, length - 1)
    const rest = instance.view(at, length - 1).slice()
    exports.zl_seal_end(at)
    const mac = instance.view(at, 16).slice()
    exports.zl_cipher_close(cipher)
    return concat(mac, sealed.subarray(-1), rest)
  }
})

test("a box with any changed byte, or of another length, does not open", () => {
  const key = someBytes(32)
  const nonce = someBytes(24)
  const box = curve.box(key, nonce, someBytes(70))
  for (let i = 0; i < box.length; i++) {
    expect(curve.open(key, nonce, flipped(box, i))).toBeUndefined()
    expect(curve.open(key, nonce, box.subarray(0, i))).toBeUndefined()
  }
  expect(curve.open(key, flipped(nonce, 0), box)).toBeUndefined()
  expect(curve.open(key, nonce, box)).toHaveLength(70)
})

test("keys and nonces of another length are refused", () => {
  const key = someBytes(32)
  expect(() => curve.publicKey(key.subarray(1))).toThrow(/31 bytes .* 32 are needed/)
  expect(() => curve.sharedKey(key, new Uint8Array(33))).toThrow(/33 bytes/)
  expect(() => curve.box(key, key, key)).toThrow(/32 bytes .* 24 are needed/)
  expect(() => curve.open(new Uint8Array(0), key, key)).toThrow(/0 bytes/)
})

test("no secret stays in scratch memory", () => {
  const key = someBytes(32)
  const plain = someBytes(500)
  curve.open(key, key.subarray(0, 24), curve.box(key, key.subarray(0, 24), plain))
  curve.sharedKey(curve.publicKey(key), key)
  const { bytes } = curve.instance
  expect(Buffer.from(bytes).indexOf(key.subarray(0, 16))).toBe(-1)
  expect(Buffer.from(bytes).indexOf(plain.subarray(0, 16))).toBe(-1)
})

test("same() compares arrays to their end", () => {
  const one = someBytes(40)
  expect(curve.same(one, one.slice())).toBe(true)
  expect(curve.same(one, flipped(one, 39, 0x80))).toBe(false)
  expect(curve.same(one, one.subarray(1))).toBe(false)
})

// -- Messages ----------------------------------------------------------------------

const direction = (counter = 0n): SealedDirection => {
  const bytes = new Uint8Array(8)
  new DataView(bytes.buffer).setBigUint64(0, counter)
  return { key: someBytes(32), ofServer: true, counter: bytes }
}

function ends(given = direction(), maxBytes = Number.POSITIVE_INFINITY) {
  const sealer = new Sealer(curve, given)
  const opener = new Opener(curve, given, maxBytes)
  return {
    seal: (frames: Uint8Array) => sealer.seal(frames),
    /** Opens chunks, and returns all frames and the error. */
    open(...chunks: readonly Uint8Array[]) {
      const opened: Uint8Array[] = []
      let error: unknown
      try {
        for (const chunk of chunks) opener.open(chunk, (frames) => opened.push(frames.slice()))
      } catch (thrown) {
        error = thrown
      }
      return { frames: concat(...opened), error: error as CipherError }
    },
    opener,
    close() {
      sealer.close()
      opener.close()
    },
  }
}

const KiB = 1024
const noise = someBytes(1 << 20)

test("frames of any size come back, cut anywhere", () => {
  const flags = fc.constantFrom(0, MORE, COMMAND)
  const size = fc.oneof(
    fc.nat(300),
    fc.nat(4 * KiB),
    fc.constantFrom(...[42, 41, 9, 8, 0].map((less) => 64 * KiB - less)),
    fc.constantFrom(128 * KiB + 4, 192 * KiB - 42, 192 * KiB - 41, 192 * KiB, 400 * KiB),
  )
  const frames = fc.array(fc.tuple(flags, size), { maxLength: 8 })
  const cuts = fc.array(fc.oneof(fc.nat(40), fc.nat(300 * KiB)), { maxLength: 30 })
  fc.assert(
    fc.property(frames, cuts, (made, cut) => {
      const end = ends()
      const plain = concat(...made.map(([f, n]) => frame(noise.subarray(n, 2 * n), f)))
      const sealed = end.seal(plain)
      const chunks: Uint8Array[] = []
      let at = 0
      for (const length of cut) {
        chunks.push(sealed.subarray(at, at + length))
        at += length
      }
      const { frames: opened, error } = end.open(...chunks, sealed.subarray(at))
      expect(error).toBeUndefined()
      expect(Buffer.compare(opened, plain)).toBe(0)
      expect(end.opener.insideFrame).toBe(false)
      end.close()
    }),
    { numRuns: 60 },
  )
})

test.each([30, 70])(
  "opened frames stay while the module seals and opens others (%i KiB)",
  (size) => {
    const [given, other] = [direction(), direction()]
    const plain = concat(frame(noise.subarray(0, size * KiB)), frame(noise.subarray(0, 50)))
    const second = frame(noise.subarray(1000, 100 * KiB))
    const [sealed, sealedSecond] = [ends(given).seal(plain), ends(other).seal(second)]
    const opened: Uint8Array[] = []
    const nested: Uint8Array[] = []
    const opener = new Opener(curve, other, Number.POSITIVE_INFINITY)
    new Opener(curve, given, Number.POSITIVE_INFINITY).open(sealed, (frames) => {
      if (nested.length === 0) opener.open(sealedSecond, (more) => nested.push(more.slice()))
      ends().seal(second)
      opened.push(frames.slice())
    })
    expect(Buffer.compare(concat(...opened), plain)).toBe(0)
    expect(Buffer.compare(concat(...nested), second)).toBe(0)
  },
)

test("frames in pieces are sealed as in one array", () => {
  const content = { messages: 3, plainBytes: 0, wireBytes: 0, dictionary: undefined }
  const sizes = [10, 300, 64 * KiB, 192 * KiB, 400 * KiB, 5]
  const plain = concat(...sizes.map((n) => frame(noise.subarray(n, 2 * n))))
  const given = direction()
  const whole = new Sealer(curve, given).seal(plain)
  const cuts = fc.array(fc.oneof(fc.nat(40), fc.nat(300 * KiB)), { maxLength: 30 })
  fc.assert(
    fc.property(cuts, (cut) => {
      const pieces: Uint8Array[] = []
      let at = 0
      for (const length of cut) {
        pieces.push(plain.subarray(at, at + length))
        at += length
      }
      const sealer = new Sealer(curve, given)
      const chunk = sealer.sealed([...pieces, plain.subarray(at)], { ...content, packing: "parts" })
      expect(chunk.messages).toBe(3)
      expect(Buffer.compare(chunk.bytes, whole)).toBe(0)
      chunk.release()
      sealer.close()
    }),
    { numRuns: 20 },
  )
})

test("a frame becomes a MESSAGE of RFC 26 in a frame without flags", () => {
  const given = direction(0x0102030405060707n)
  const sealed = ends(given).seal(frame(Buffer.from("hello"), MORE))
  expect(sealed.subarray(0, 2)).toEqual(frameHead(33 + 5))
  expect(Buffer.from(sealed.subarray(2, 10)).toString("latin1")).toBe("\x07MESSAGE")
  expect(hex(sealed.subarray(10, 18))).toBe("0102030405060708")
  const nonce = concat(Buffer.from("CurveZMQMESSAGES"), sealed.subarray(10, 18))
  const opened = curve.open(given.key, nonce, sealed.subarray(18))
  expect(Buffer.from(opened as Uint8Array).toString("latin1")).toBe("\x01hello")
})

test.each([
  ["CurveZMQMESSAGES", true],
  ["CurveZMQMESSAGEC", false],
])("a command and a part longer than a short frame, with the nonces %s", (prefix, ofServer) => {
  const given = { ...direction(4n), ofServer }
  const sealed = ends(given).seal(
    concat(frame(Buffer.from("\x04PING"), COMMAND), frame(noise.subarray(0, 300))),
  )
  const first = 2 + 33 + 5
  const box = curve.open(
    given.key,
    concat(Buffer.from(prefix), sealed.subarray(10, 18)),
    sealed.subarray(18, first),
  )
  expect(Buffer.from(box as Uint8Array).toString("latin1")).toBe("\x02\x04PING")
  const second = sealed.subarray(first)
  expect(second.subarray(0, 9)).toEqual(frameHead(333))
  expect(hex(second.subarray(17, 25))).toBe("0000000000000006")
})

describe("refuses", () => {
  const good = () => {
    const end = ends(direction(), 1000)
    return { end, sealed: end.seal(frame(Buffer.from("one"))) }
  }
  const large = frame(noise.subarray(0, 300 * KiB))

  test.each([
    ["frames in the clear", frame(Buffer.from("\0\0\0\0hello")), "UNEXPECTED_COMMAND"],
    [
      "frames in the clear, of tcp://",
      frame(Buffer.from("hello, world")),
      "MALFORMED_COMMAND_UNSPECIFIED",
    ],
    ["a short frame in the clear", frame(Buffer.from("hello")), "MALFORMED_COMMAND_UNSPECIFIED"],
    ["READY again", frame(Buffer.from("\x05READY12345678"), COMMAND), "UNEXPECTED_COMMAND"],
    ["an empty frame", frame(new Uint8Array(0)), "MALFORMED_COMMAND_UNSPECIFIED"],
    [
      "the beginning of a large frame in the clear",
      concat(frameHead(999), Buffer.from("\0\0\0\0{")),
      "UNEXPECTED_COMMAND",
    ],
    ["a MESSAGE without a box", frame(Buffer.from("\x07MESSAGE")), "MALFORMED_COMMAND_MESSAGE"],
    [
      "a MESSAGE without flags",
      frame(concat(Buffer.from("\x07MESSAGE"), new Uint8Array(24))),
      "MALFORMED_COMMAND_MESSAGE",
    ],
    [
      "the head of a MESSAGE over the limit",
      concat(frameHead(1034), Buffer.from("\x07MESSAGE")),
      undefined,
    ],
    [
      "a forged MESSAGE",
      frame(
        concat(Buffer.from("\x07MESSAGE"), new Uint8Array(7), Uint8Array.of(9), new Uint8Array(17)),
      ),
      "CRYPTOGRAPHIC",
    ],
  ])("%s, at any cut", (_, bad, reason) => {
    for (const size of [1, 2, 7, bad.length]) {
      const { end, sealed } = good()
      const chunks: Uint8Array[] = []
      for (let at = 0; at < bad.length; at += size) chunks.push(bad.subarray(at, at + size))
      const { frames, error } = end.open(sealed, ...chunks)
      expect(hex(frames)).toBe(hex(frame(Buffer.from("one"))))
      expect(error).toBeInstanceOf(CipherError)
      expect(error.reason).toBe(reason)
      end.close()
    }
  })

  test.each([5, 300 * KiB])("MORE outside a MESSAGE of %i bytes, unless it is inside", (bytes) => {
    const end = ends()
    const sealed = (flags: number) => {
      const message = end.seal(frame(noise.subarray(0, bytes), flags))
      message[0] = (message[0] as number) | MORE
      return message
    }
    const { frames, error } = end.open(sealed(MORE), sealed(0))
    expect(hex(frames)).toBe(hex(frame(noise.subarray(0, bytes), MORE)))
    expect(error.message).toBe("the head of a MESSAGE's frame is not allowed")
  })

  test("a MESSAGE for the second time, and one that was overtaken", () => {
    const end = ends()
    const [a, b] = [end.seal(frame(Buffer.from("a"))), end.seal(frame(Buffer.from("b")))]
    expect(end.open(a, a).error.reason).toBe("INVALID_SEQUENCE")
    expect(end.open(b).error).toBeUndefined()
    expect(end.open(a).error.reason).toBe("INVALID_SEQUENCE")
  })

  test("any bit changed in a MESSAGE", () => {
    const given = direction()
    const sealed = ends(given).seal(frame(Buffer.from("hello")))
    for (let bit = 16; bit < 8 * sealed.length; bit++) {
      const end = ends(given)
      const bad = flipped(sealed, bit >> 3, 1 << (bit & 7))
      const { frames, error } = end.open(bad)
      expect(error).toBeInstanceOf(CipherError)
      expect(frames).toHaveLength(0)
      end.close()
    }
  })

  test("a large MESSAGE that was changed anywhere, without passing on any of it", () => {
    const given = direction()
    const sealed = ends(given).seal(large)
    for (const at of [17, 26, 41, 42, 200 * KiB, sealed.length - 1]) {
      const end = ends(given)
      const bad = flipped(sealed, at)
      const { frames, error } = end.open(bad.subarray(0, 100_000), bad.subarray(100_000))
      expect(error.reason).toBe("CRYPTOGRAPHIC")
      expect(frames).toHaveLength(0)
      end.close()
    }
  })

  test("a large MESSAGE for the second time", () => {
    const end = ends()
    const sealed = end.seal(large)
    expect(end.open(sealed, sealed).error.reason).toBe("INVALID_SEQUENCE")
  })

  test("the counter after 2^64 - 1, when nothing more can be sent either", () => {
    const end = ends(direction(2n ** 64n - 2n))
    const last = end.seal(frame(Buffer.from("last")))
    expect(end.open(last).error).toBeUndefined()
    expect(() => end.seal(frame(Buffer.from("one more")))).toThrow(/has sent all messages/)
    expect(() => end.seal(large)).toThrow(/has sent all messages/)
    expect(end.open(last).error.reason).toBe("INVALID_SEQUENCE")
  })

  test("a cipher refuses to go on once closed", () => {
    const end = ends()
    const sealed = end.seal(frame(Buffer.from("one")))
    end.close()
    end.close()
    expect(() => end.seal(frame(Buffer.from("two")))).toThrow("the cipher is closed")
    expect(end.open(sealed).error.message).toBe("the cipher is closed")
  })
})

test("the limit is in bytes of the part", () => {
  const end = ends(direction(), 1000)
  expect(end.open(end.seal(frame(noise.subarray(0, 1000)))).error).toBeUndefined()
  expect(end.open(end.seal(frame(noise.subarray(0, 1001)))).error.message).toMatch(
    /longer than maxMessageSize/,
  )
})

test("a head alone does not make room for its frame", () => {
  const end = ends()
  const head = concat(frameHead(2n ** 31n), Buffer.from("\x07MESSAGE"), noise.subarray(0, 5000))
  const before = process.memoryUsage().arrayBuffers
  end.open(head)
  expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(1 << 20)
  expect(end.opener.insideFrame).toBe(true)
})

test("ciphers give back their memory", () => {
  const before = curve.instance.bytes.length
  for (let i = 0; i < 20_000; i++) ends().close()
  expect(curve.instance.bytes.length).toBe(before)
})
