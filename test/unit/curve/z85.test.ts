/** Z85, with the test vector of RFC 32 of the ZeroMQ project. */
import { describe, expect, test } from "vitest"
import { curveKeyPair, z85Decode, z85Encode } from "zeromq-lz4"

const hello = Buffer.from("864fd26fb559f75b", "hex")

test("the test vector of RFC 32 is encoded and decoded", () => {
  expect(z85Encode(hello)).toBe("HelloWorld")
  expect(z85Decode("HelloWorld")).toEqual(hello)
})

test("nothing, the largest group, and keys", () => {
  expect(z85Encode(new Uint8Array(0))).toBe("")
  expect(z85Decode("")).toEqual(Buffer.alloc(0))
  expect(z85Decode(z85Encode(Buffer.alloc(8, 0xff)))).toEqual(Buffer.alloc(8, 0xff))
  const { publicKey } = curveKeyPair()
  expect(z85Decode(publicKey)).toHaveLength(32)
  expect(z85Encode(z85Decode(publicKey))).toBe(publicKey)
})

describe("mistakes", () => {
  test.each<[unknown, string]>([
    [new Uint8Array(5), "multiple of 4; got 5"],
    ["HelloWorld", 'got "HelloWorld"'],
  ])("z85Encode(%j)", (given, says) => {
    expect(() => z85Encode(given as Uint8Array)).toThrow(says)
  })

  test.each<[unknown, string]>([
    ["Hello!?", "multiple of 5 characters; got 7"],
    ["Hello Worl", "character 6 is none of its digits"],
    ["#####", "characters from 1 on are over 32 bits"],
    [5, "text must be a string; got 5"],
  ])("z85Decode(%j)", (given, says) => {
    expect(() => z85Decode(given as string)).toThrow(says)
  })

  test("a text that may be a secret is not quoted", () => {
    const { secretKey } = curveKeyPair()
    expect(() => z85Decode(secretKey.slice(1))).not.toThrow(secretKey.slice(1, 10))
  })
})
