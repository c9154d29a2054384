/** A process whose event loop is blocked for longer than its peer waits for heartbeats. */
import { setTimeout } from "node:timers/promises"
import { expect, test } from "vitest"
import { Pair } from "zeromq-lz4"

import { BusyPeer, shaken } from "../support/busy-peer.js"
import { anyPortOf, lost, Peer, Sender, type Way, ways } from "../support/old-news.js"
import { use } from "../support/sockets.js"
import { plain, text } from "../support/threads.js"

// A heartbeat is answered within a few milliseconds.
const heartbeats = { heartbeatInterval: 200, heartbeatTimeout: 2000, heartbeatTimeToLive: 2000 }
const BLOCKED_MS = 3000

test.each([
  ["computes", false],
  ["sleeps", true],
])("with a thread, neither side disconnects: it %s", async (_, sleeps) => {
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
  pair.connect(await busy.script.line(), plain)
  await handshaken
  await busy.block()
  await setTimeout(BLOCKED_MS)
  await busy.release()
  expect(await text(pair)).toBe("still there")
  await pair.send("so is the other")
  expect(await busy.script.line()).toBe("so is the other")
  expect(lost).toEqual([])
  expect(pair.lz4.connections.length).toBe(1)
})

/** Returns how many messages are lost that a sender sends after a block in which its peer gives it up. */
async function lostAfterBlock(way: Way): Promise<string> {
  const count = 500
  const bind = anyPortOf(way)
  const sender = new Sender(way, { type: "Push", bind, ms: BLOCKED_MS, count })
  const connect = await sender.line()
  const peer = new Peer(way, { type: "Pull", connect, settings: heartbeats })
  await peer.says("hello")
  await sender.block()
  // libzmq's threads answer meanwhile, and so does a thread of ours.
  if (way.options[0]?.thread === false) {
    await peer.says("disconnected")
    await peer.says("connected")
  }
  sender.release()
  await sender.says("sent")
  return `${await lost([peer], count)} over ${way.name}`
}

test("what is sent afterwards is not lost with a connection that the peer has closed", async () => {
  const all = await Promise.all(ways.map(lostAfterBlock))
  expect(all).toEqual(ways.map(({ name }) => `0 over ${name}`))
})
