/** A process whose event loop can be blocked, with a socket on a thread. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { expect, onTestFinished } from "vitest"
import { Script } from "./running-script.js"
import type { AnySocket } from "./sockets.js"
import { ANY } from "./threads.js"

/**
 * A process with a socket that is bound with a thread. It prints its endpoint. On a signal, it runs
 * `before`, prints "blocked", blocks its event loop until it is released, prints "over", and runs `after`.
 */
export class BusyPeer {
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

/** Resolves when a socket has completed a handshake. */
export const shaken = (socket: AnySocket): Promise<unknown> =>
  new Promise((resolve) => socket.events.on("handshake", resolve))
