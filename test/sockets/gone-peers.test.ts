/** Messages of a peer that ended before this side wrote to it: all that have arrived are received. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { describe, expect, onTestFinished, test } from "vitest"

import { Script } from "../support/running-script.js"
import { transports } from "../support/transports.js"

const COUNT = 1000

/** Binds a DEALER that sends to its peer, and ends once the system has accepted everything. */
const sender = `
  const socket = new zmq.Dealer({ linger: -1 });
  await socket.bind(argument.endpoint);
  console.log(socket.lastEndpoint);
  await socket.receive();
  for (let i = 0; i < argument.count; i++) await socket.send("message " + i);
  await socket.lz4?.flush();
  process.exit();`

/** Connects a DEALER whose event loop is blocked until its peer has ended, and which then writes first. */
const receiver = `
  const { existsSync } = await import("node:fs");
  const socket = new zmq.Dealer({ linger: 0, sendTimeout: 0, ...argument.options });
  socket.connect(argument.endpoint);
  await socket.send("hello");
  if (socket.lz4) await socket.lz4.flush();
  // Both run before the sockets are read.
  for (const word of ["first", "second"]) setTimeout(() => void socket.send(word).catch(() => {}), 1);
  console.log("blocked");
  while (!existsSync(argument.release));
  let received = 0;
  for await (const [message] of socket) {
    if (String(message) !== "message " + received) console.log(String(message));
    if (++received === argument.count) break;
  }
  console.log("received " + received);
  process.exit();`

/** Returns a file that does not exist yet. */
function signal(): string {
  const folder = mkdtempSync(join(tmpdir(), "zeromq-lz4-gone-"))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  return join(folder, "release")
}

const cases: [string, object][] = [
  ["", {}],
  [" with heartbeats", { heartbeatInterval: 1, heartbeatTimeout: 60_000 }],
]
/** libzmq loses what it has not read when the queue is full. */
const short: [string, object] = [", with a short queue", { receiveHighWaterMark: 10 }]

describe.each(transports)("over $name", ({ scheme }) => {
  test.each(scheme === "tcp://" ? cases : [...cases, short])(
    "are received, although writing fails%s",
    async (_, options) => {
      const release = signal()
      const from = new Script(sender, { count: COUNT, endpoint: `${scheme}127.0.0.1:*` })
      const endpoint = await from.line()
      const to = new Script(receiver, { count: COUNT, endpoint, release, options })
      expect(await to.line()).toBe("blocked")
      expect(await from.ended()).toEqual({ code: 0, signal: null })
      writeFileSync(release, "")
      expect(await to.line()).toBe(`received ${COUNT}`)
    },
  )
})
