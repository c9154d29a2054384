/** The choice between libzmq and this package in sockets that have endpoints of both. */
import { expect, test } from "vitest"
import { Req } from "../../../src/patterns/req.js"
import type { Received } from "../../../src/sockets/message.js"
import { MixedSocket } from "../../../src/sockets/mixed-socket.js"
import type { NativeSocket } from "../../../src/sockets/native-pipe.js"
import { Bench, parts, textOf } from "../../support/pipes.js"

test("a relaxed REQ that has sent another request does not receive the reply to the earlier one over libzmq", async () => {
  const bench = new Bench(Req, { relaxed: true })
  bench.peer()
  const asked: string[] = []
  let reply = (_message: Received) => {}
  const native: NativeSocket = {
    readable: false,
    writable: true,
    send: async (message) => {
      asked.push(textOf(message))
    },
    receive: () =>
      new Promise((resolve) => {
        reply = resolve
      }),
  }
  let told = 0
  const events = { readable: () => told++, writable: () => {} }
  const mixed = new MixedSocket(bench.type, bench.options, () => native, events)
  mixed.send(parts("to ours"), {})
  mixed.send(parts("to libzmq's"), {})
  mixed.wantIn(true)
  mixed.send(parts("to ours again"), {})
  mixed.wantIn(false)
  reply(parts("late"))
  await new Promise((resolve) => setImmediate(resolve))
  expect([told, mixed.hasIn(), mixed.receive()]).toEqual([1, false, "EAGAIN"])
  mixed.send(parts("to libzmq's again"), {})
  expect(asked).toEqual(["to libzmq's", "to libzmq's again"])
  expect([mixed.hasIn(), mixed.receive()]).toEqual([false, "EAGAIN"])
})
