/** The vectors of RFC.md, section 3.10. */
import { readFileSync } from "node:fs"
import { expect, test } from "vitest"
import { secretBytes } from "../../../src/curve/curve.js"
import { Opener } from "../../../src/curve/opener.js"
import { Sealer } from "../../../src/curve/sealer.js"
import { curve } from "../../support/curve.js"
import { concat } from "../../support/wire.js"
import { COMMAND, frame } from "../../support/zmtp.js"

const text = readFileSync(new URL("../../../RFC.md", import.meta.url), "utf8")
const section = text.slice(text.indexOf("### 3.10 CURVE"), text.indexOf("\n## 4. Parts"))

/** Returns the bytes of a line that begins with a name, and of those that continue it. */
function vector(name: string): Uint8Array {
  const [, bytes = ""] =
    new RegExp(`^${name} +((?:[0-9a-f]{2}[ \\n]+)+)`, "m").exec(section.replace(/\n {6,}/g, " ")) ??
    []
  return Buffer.from(bytes.replace(/\s/g, ""), "hex")
}

const secret = (byte: number) => secretBytes(32).fill(byte)
const counter = (value: number) => Uint8Array.of(0, 0, 0, 0, 0, 0, 0, value)

test("the keys are those of the example", () => {
  for (const [name, byte] of [
    ["S", 1],
    ["C'", 2],
    ["S'", 3],
  ] as const)
    expect(vector(name)).toEqual(Buffer.from(curve.publicKey(secret(byte))))
  expect(vector("C' and S'")).toEqual(
    Buffer.from(curve.sharedKey(vector("S'"), secret(2)) as Uint8Array),
  )
})

test("the box of HELLO is that of the example", () => {
  const key = curve.sharedKey(vector("S"), secret(2)) as Uint8Array
  const nonce = concat(Buffer.from("CurveZMQHELLO---"), counter(1))
  expect(vector("HELLO")).toEqual(Buffer.from(curve.box(key, nonce, new Uint8Array(64))))
})

test.each([
  ["client", false, 2, frame(Buffer.from("\0\0\0\0hello"))],
  ["server", true, 1, frame(Buffer.from("\x04PING\0\0"), COMMAND)],
])("the frame from the %s", (name, ofServer, last, plain) => {
  const direction = { key: vector("C' and S'"), ofServer, counter: counter(last) }
  expect(vector(name)).toEqual(Buffer.from(new Sealer(curve, direction).seal(plain)))
  const opened: Uint8Array[] = []
  new Opener(curve, direction, 100).open(vector(name), (frames) => opened.push(frames.slice()))
  expect(concat(...opened)).toEqual(plain)
})
