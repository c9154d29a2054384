import zmq, { Pull, Push } from "zeromq-lz4"
import { Codec } from "zeromq-lz4/codec"
import { exercise } from "./exercise.cjs"

test("all works in an ES module", async () => {
  expect(await exercise({ Pull, Push }, { Codec })).toBe("all works")
  expect(zmq.Pull).toBe(Pull)
})
