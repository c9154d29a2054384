import zmq, { curveKeyPair, Pull, Push } from "zeromq-lz4"
import { decodeCapture, decodeFrames } from "zeromq-lz4/capture"
import { Codec } from "zeromq-lz4/codec"
import { exercise } from "./exercise.cjs"

declare function test(name: string, run: () => Promise<void>): void
declare function expect(value: unknown): { toBe(other: unknown): void }

// ts-jest compiles it to CommonJS.
test("all works in TypeScript", async () => {
  expect(
    await exercise({ Pull, Push, curveKeyPair }, { Codec }, { decodeCapture, decodeFrames }),
  ).toBe("all works")
  expect(zmq.Pull).toBe(Pull)
})
