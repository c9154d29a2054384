/** Processes whose sockets are attacked, the attackers, and the peers that must not notice. */
import type { Socket } from "node:net"
import { expect, onTestFinished } from "vitest"
import { Push } from "zeromq-lz4"

import { rawZmtpPeer } from "./raw-peer.js"
import { Script } from "./running-script.js"
import { sleep } from "./sleep.js"
import { use } from "./sockets.js"

export const ADDRESS = "lz4+tcp://127.0.0.1:*"

/**
 * What a process's memory holds. `live` counts the bytes in use of its main thread, and does not depend on
 * the machine; `rss` is what the system gave to the process, with its other threads.
 */
export interface Held {
  live: number
  rss: number
}

/** For scripts: prints the memory as JSON, with more properties. */
export const printsMemory = `
  (await import("node:v8")).setFlagsFromString("--expose-gc");
  const collect = (await import("node:vm")).runInNewContext("gc");
  const printMemory = async (more) => {
    // Array buffers are released between turns of the event loop.
    for (let i = 0; i < 3; i++) { collect(); await new Promise(setImmediate) }
    const { rss, heapUsed, external } = process.memoryUsage();
    console.log(JSON.stringify({ rss, live: heapUsed + external, ...more() }));
  };`

/** Writes until all is written, or the other side closes or has stopped reading. */
export async function flood(
  socket: Socket,
  chunks: Iterable<Uint8Array>,
  victim: Victim,
): Promise<void> {
  let written = 0
  let isOver = false
  const writing = (async () => {
    for (const chunk of chunks) {
      if (isOver || socket.destroyed) break
      await new Promise<void>((resolve) => socket.write(chunk, () => resolve()))
      written++
    }
    isOver = true
  })()
  while (!isOver) {
    const before = written
    await Promise.race([writing, sleep(1000)])
    // An answer shows that its event loop has turned. If it was only slow and would have read more, less is sent.
    for (let i = 0; i < 20 && !isOver; i++) await victim.answers()
    isOver ||= written === before
  }
}

/**
 * A process whose socket is attacked. It receives all messages and prints those that begin with
 * "honest"; with "idle" it receives nothing.
 */
export class Victim {
  readonly script: Script
  endpoint = ""
  readonly #answers: string[] = []
  readonly #lines: string[] = []

  private constructor(
    type: string,
    { idle = false, throws = false, options = {}, descriptors = 0, thread = false },
  ) {
    this.script = new Script(
      `${printsMemory}
      const socket = new zmq[argument.type](argument.options);
      globalThis.kept = socket; // collect garbage, which also closes sockets
      process.on("SIGUSR2", () => printMemory(() => ({ connections: socket.lz4.connections.length })));
      process.on("SIGHUP", () => console.log("{}"));
      process.on("uncaughtException", (error) => console.log("uncaught " + error.message));
      socket.lz4.on("protocolError", ({ error }) => {
        console.log("protocolError " + error.code);
        if (argument.throws) throw new Error("thrown on purpose")
      });
      await socket.bind("${ADDRESS}"); console.log(socket.lastEndpoint);
      if (argument.idle) setInterval(() => {}, 1000);
      else if (socket.receive) for await (const [first] of socket)
        if (String(first.subarray(0, 6)) === "honest") console.log(String(first))`,
      { type, idle, options, throws },
      descriptors || "unlimited",
      thread ? { ZEROMQ_LZ4_THREAD: "1" } : {},
    )
  }

  static async start(
    type: string,
    settings: {
      idle?: boolean
      throws?: boolean
      options?: object
      descriptors?: number
      thread?: boolean
    } = {},
  ): Promise<Victim> {
    const victim = new Victim(type, settings)
    victim.endpoint = await victim.line()
    return victim
  }

  /** Returns the next line that is no answer. */
  line(): Promise<string> {
    return this.#next(this.#lines)
  }

  async state(): Promise<Held & { connections: number }> {
    this.script.process.kill("SIGUSR2")
    return JSON.parse(await this.#next(this.#answers))
  }

  /** Resolves when its event loop has handled a signal. */
  async answers(): Promise<void> {
    this.script.process.kill("SIGHUP")
    await this.#next(this.#answers)
  }

  async #next(lines: string[]): Promise<string> {
    while (lines.length === 0) {
      const line = await this.script.line()
      const isAnswer = line.startsWith("{")
      ;(isAnswer ? this.#answers : this.#lines).push(line)
    }
    return lines.shift() as string
  }
}

/** An honest peer, whose messages must arrive. */
export class Honest {
  readonly #victim: Victim
  readonly #push: Push = use(new Push({ reconnectInterval: 20 }))
  disconnects = 0
  #sent = 0

  constructor(victim: Victim) {
    this.#victim = victim
    this.#push.lz4.on("disconnect", () => this.disconnects++)
    this.#push.connect(victim.endpoint)
  }

  async works(): Promise<void> {
    await this.arrives()
    expect(this.disconnects).toBe(0)
  }

  async arrives(): Promise<void> {
    const text = `honest ${this.#sent++}`
    await this.#push.send(text)
    expect(await this.#victim.line()).toBe(text)
  }
}

export async function attacker(endpoint: string, socketType = "PUSH"): Promise<Socket> {
  const { socket } = await rawZmtpPeer(endpoint, socketType)
  onTestFinished(() => {
    socket.destroy()
  })
  return socket
}
