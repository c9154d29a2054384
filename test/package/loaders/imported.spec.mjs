import zmq, { curveKeyPair, Pull, Push } from "zeromq-lz4"
import { decodeCapture, decodeFrames } from "zeromq-lz4/capture"
import { Codec } from "zeromq-lz4/codec"
import { exercise } from "./exercise.cjs"

test("all works in an ES module", async () => {
  expect(
    await exercise({ Pull, Push, curveKeyPair }, { Codec }, { decodeCapture, decodeFrames }),
  ).toBe("all works")
  expect(zmq.Pull).toBe(Pull)
})
