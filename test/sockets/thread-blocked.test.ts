/** A process with a blocked event loop: connections on a thread keep working while there is room. */
import { describe, expect, test } from "vitest"
import { Pair, Pull, Push } from "zeromq-lz4"

import { BusyPeer, shaken } from "../support/busy-peer.js"
import { Relay, type Relayed } from "../support/relay.js"
import { sleep } from "../support/sleep.js"
import { eventually, use } from "../support/sockets.js"
import { noise, plain, text } from "../support/threads.js"

const MIB = 2 ** 20

describe("while the event loop is blocked", () => {
  const heartbeats = {
    heartbeatInterval: 50,
    heartbeatTimeout: 300_000,
    heartbeatTimeToLive: 300_000,
  }

  test.each([
    ["computes", false],
    ["sleeps", true],
  ])("heartbeats continue, and neither side disconnects: it %s", async (_, sleeps) => {
    const busy = new BusyPeer(
      `const socket = new zmq.Pair(${JSON.stringify(heartbeats)});
      socket.lz4.on("disconnect", ({ error }) => console.log("lost " + error?.code))`,
      {
        after: `await socket.send("still there"); console.log(String(await socket.receive()))`,
        sleeps,
      },
    )
    const pair = use(new Pair(heartbeats))
    const lost: unknown[] = []
    pair.lz4.on("disconnect", (event) => lost.push(event))
    const handshaken = shaken(pair)
    const relay = use(await Relay.before(await busy.script.line()))
    pair.connect(relay.endpoint, plain)
    await handshaken
    await busy.block()
    const [{ fromServer }] = relay.connections as [Relayed]
    const heard = (command: string) =>
      Buffer.concat(fromServer).toString("latin1").split(command).length
    const [pings, pongs] = [heard("\x04PING"), heard("\x04PONG")]
    await eventually(() => heard("\x04PING") > pings + 10 && heard("\x04PONG") > pongs + 10)
    await busy.release()
    expect(await text(pair)).toBe("still there")
    await pair.send("so is the other")
    expect(await busy.script.line()).toBe("so is the other")
    expect(lost).toEqual([])
    expect(pair.lz4.connections.length).toBe(1)
  })

  test.each([
    ["1 message", 1, ""],
    ["1000 messages", 1000, ""],
    [
      "1000 messages and a turn of the event loop",
      1000,
      "await new Promise((resolve) => setImmediate(resolve))",
    ],
  ])("messages sent just before are written: %s", async (_, count, pause) => {
    const busy = new BusyPeer("const socket = new zmq.Push({ sendHighWaterMark: 0 })", {
      before: `for (let i = 0; i < ${count}; i++) await socket.send(String(i)); ${pause}`,
    })
    const pull = use(new Pull({ receiveHighWaterMark: 0 }))
    const handshaken = shaken(pull)
    pull.connect(await busy.script.line(), plain)
    await handshaken
    await busy.block()
    for (let i = 0; i < count; i++) expect(await text(pull)).toBe(String(i))
    expect(busy.isOver).toBe(false)
  })

  test("new peers are accepted", async () => {
    const busy = new BusyPeer("const socket = new zmq.Pull()", {
      after: "for (let i = 0; i < 3; i++) console.log(String(await socket.receive()))",
    })
    const endpoint = await busy.script.line()
    await busy.block()
    for (let i = 0; i < 3; i++) {
      const push = use(new Push())
      const handshaken = shaken(push)
      push.connect(endpoint, plain)
      await handshaken
      await push.send(`from ${i}`)
    }
    await busy.release()
    const lines = [await busy.script.line(), await busy.script.line(), await busy.script.line()]
    expect(lines.sort()).toEqual(["from 0", "from 1", "from 2"])
  })

  test("a peer that sends has to wait when receiveHighWaterMark is reached, and nothing is lost", async () => {
    const total = 2000
    const busy = new BusyPeer("const socket = new zmq.Pull({ receiveHighWaterMark: 10 })", {
      after: `for (let i = 0; i < ${total}; i++) {
          const [number, part] = await socket.receive();
          if (Number(number) !== i || part.length !== ${noise.length}) console.log("error: " + number + " is not " + i)
        }
        console.log("all")`,
    })
    const push = use(new Push({ sendHighWaterMark: 1 }))
    push.connect(await busy.script.line(), plain)
    await push.send(["0", noise])
    await busy.block()
    let sent = 1
    const sending = (async () => {
      for (; sent < total; sent++) await push.send([String(sent), noise])
    })()
    await eventually(() => sent > 10)
    await sleep(1000) // Time to fill the buffers. A slow machine just fills them less.
    await busy.release()
    // The system buffers at most 10 MB for both ends, and up to 4 MB may be in transit between threads.
    expect(sent * noise.length).toBeLessThan(24 * MIB)
    await sending
    expect(await busy.script.line()).toBe("all")
  })

  test("few of a peer's small messages are read from the network, and none is lost", async () => {
    const total = 100_000
    const busy = new BusyPeer("const socket = new zmq.Pull({ receiveHighWaterMark: 10 })", {
      after: `const taken = () => socket.lz4.stats.received.messages;
        while (taken() === 0) await new Promise((resolve) => setTimeout(resolve, 1));
        console.log(taken());
        for (let i = 0; i < ${total}; i++)
          if (String(await socket.receive()) !== String(i)) console.log("error: it is not " + i);
        console.log("all")`,
    })
    const push = use(new Push({ sendHighWaterMark: 0 }))
    push.connect(await busy.script.line(), plain)
    await busy.block()
    for (let i = 0; i < total; i++) await push.send(String(i))
    await sleep(1000) // Time to read more. A slow machine just reads less.
    await busy.release()
    // One read from the network returns thousands.
    expect(Number(await busy.script.line())).toBeLessThan(total / 4)
    expect(await busy.script.line()).toBe("all")
  })
})
