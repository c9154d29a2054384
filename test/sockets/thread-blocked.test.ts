/** A process with a blocked event loop: connections on a thread keep working while there is room. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { setTimeout } from "node:timers/promises"
import { describe, expect, onTestFinished, test } from "vitest"
import { Pair, Pull, Push } from "zeromq-lz4"

import { Script } from "../support/running-script.js"
import { sleep } from "../support/sleep.js"
import { type AnySocket, use } from "../support/sockets.js"
import { ANY, noise, plain, text } from "../support/threads.js"

const MIB = 2 ** 20

/**
 * A process with a socket that is bound with a thread. It prints its endpoint. On a signal, it runs
 * `before`, prints "blocked", blocks its event loop until it is released, prints "over", and runs `after`.
 */
class BusyPeer {
  readonly script: Script
  /** A file whose existence releases it. */
  readonly #release = join(mkdtempSync(join(tmpdir(), "zeromq-lz4-blocked-")), "release")
  /** Whether its event loop is running again. */
  isOver = false
  #over: Promise<void> = Promise.resolve()

  constructor(source: string, { before = "", after = "", sleeps = false }) {
    onTestFinished(() => rmSync(dirname(this.#release), { recursive: true }))
    this.script = new Script(
      `const { existsSync } = await import("node:fs");
      const cell = new Int32Array(new SharedArrayBuffer(4));
      ${source}
      process.on("SIGUSR2", async () => {
        ${before}
        console.log("blocked");
        while (!existsSync(argument.release)) {
          const end = performance.now() + 20;
          if (argument.sleeps) Atomics.wait(cell, 0, 0, 20);
          else while (performance.now() < end);
        }
        console.log("over");
        ${after}
      });
      setInterval(() => {}, 1000);
      await socket.bind("${ANY}", { thread: true }); console.log(socket.lastEndpoint)`,
      { sleeps, release: this.#release },
    )
  }

  async block(): Promise<void> {
    this.script.process.kill("SIGUSR2")
    expect(await this.script.line()).toBe("blocked")
    this.#over = this.script.line().then((line) => {
      expect(line).toBe("over")
      this.isOver = true
    })
    this.#over.catch(() => {}) // of a test that ends the process without waiting for it
  }

  async release(): Promise<void> {
    expect(this.isOver).toBe(false)
    writeFileSync(this.#release, "")
    await this.#over
  }
}

const shaken = (socket: AnySocket): Promise<unknown> =>
  new Promise((resolve) => socket.events.on("handshake", resolve))

describe("while the event loop is blocked", () => {
  /** Less than the time for which it is blocked, and so much that a busy machine does not take as long. */
  const heartbeats = {
    heartbeatInterval: 200,
    heartbeatTimeout: 8000,
    heartbeatTimeToLive: 8000,
  }
  const BLOCKED_MS = 10_000

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
    await sleep(2000) // time to fill the buffers
    await busy.release()
    // The system buffers at most 10 MB for both ends, and up to 4 MB may be in transit between threads.
    expect(sent).toBeGreaterThan(10)
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
    await sleep(2000) // time to read more
    await busy.release()
    // One read from the network returns thousands.
    expect(Number(await busy.script.line())).toBeLessThan(total / 4)
    expect(await busy.script.line()).toBe("all")
  })
})
