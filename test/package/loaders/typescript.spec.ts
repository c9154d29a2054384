import zmq, { Pull, Push } from "zeromq-lz4"
import { Codec } from "zeromq-lz4/codec"
import { exercise } from "./exercise.cjs"

declare function test(name: string, run: () => Promise<void>): void
declare function expect(value: unknown): { toBe(other: unknown): void }

// ts-jest compiles it to CommonJS.
test("all works in TypeScript", async () => {
  expect(await exercise({ Pull, Push }, { Codec })).toBe("all works")
  expect(zmq.Pull).toBe(Pull)
})
