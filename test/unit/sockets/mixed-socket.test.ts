/** The choice between libzmq and this package in sockets that have endpoints of both. */
import { describe, expect, test } from "vitest"
import { Push } from "../../../src/patterns/push.js"
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
    isClosed: false,
    readable: false,
    writable: true,
    peers: 1,
    send: async (message) => {
      asked.push(textOf(message as Buffer[]))
    },
    receive: () =>
      new Promise((resolve) => {
        reply = resolve
      }),
  }
  let told = 0
  const events = { readable: () => told++, writable: () => {} }
  const mixed = new MixedSocket(bench.type, bench.options, native, events)
  mixed.send(parts("to ours"), {})
  mixed.send(parts("to libzmq's"), {})
  mixed.native.wantIn(true)
  mixed.send(parts("to ours again"), {})
  mixed.native.wantIn(false)
  reply(parts("late"))
  await new Promise((resolve) => setImmediate(resolve))
  expect([told, mixed.hasIn(), mixed.receive()]).toEqual([1, false, "EAGAIN"])
  mixed.send(parts("to libzmq's again"), {})
  expect(asked).toEqual(["to libzmq's", "to libzmq's again"])
  expect([mixed.hasIn(), mixed.receive()]).toEqual([false, "EAGAIN"])
})

describe("a PUSH", () => {
  /** Sends 12 messages. Returns "n" for each that goes to libzmq, and the number of the peer for the others. */
  const shares = (own: number, peers: number | undefined, room = (_sent: number) => true) => {
    const bench = new Bench(Push)
    const pipes = Array.from({ length: own }, () => bench.peer())
    let sent = ""
    const native: NativeSocket = {
      isClosed: false,
      readable: false,
      get writable() {
        return room(sent.length)
      },
      peers,
      send: async () => {
        sent += "n"
      },
      receive: () => new Promise(() => {}),
    }
    const events = { readable: () => {}, writable: () => {} }
    const mixed = new MixedSocket(bench.type, bench.options, native, events)
    for (let i = 0; i < 12; i++) {
      const before = pipes.map(({ pipe }) => pipe.out.waiting.messages)
      mixed.send(parts("text"), {})
      const at = pipes.findIndex(({ pipe }, i) => pipe.out.waiting.messages > before[i]!)
      if (at >= 0) sent += at
    }
    return sent
  }

  test.each([
    { own: 3, peers: 1, shared: "012n012n012n" },
    { own: 1, peers: 3, shared: "0nnn0nnn0nnn" },
    { own: 2, peers: 2, shared: "01nn01nn01nn" },
    { own: 1, peers: 1, shared: "0n0n0n0n0n0n" },
  ])("sends to $own peers of ours and $peers of libzmq in turn", ({ own, peers, shared }) => {
    expect(shares(own, peers)).toBe(shared)
  })

  test("takes turns between ours and libzmq's whose number is not known", () => {
    expect(shares(3, undefined)).toBe("0n1n2n0n1n2n")
  })

  test("sends to ours while libzmq has no room", () => {
    expect(shares(2, 2, (sent) => sent < 3 || sent > 8)).toBe("01n010101nn0")
  })
})
