/** Captures wire bytes with tcpdump, and reassembles them with tshark. */
import { type ChildProcessByStdio, spawn } from "node:child_process"
import { on, once } from "node:events"
import { createInterface } from "node:readline"
import type { Readable } from "node:stream"

import { follow, type Wire } from "./tshark.js"

const UNTIL_CLOSE = { close: ["close"] }

export class Capture implements AsyncDisposable {
  readonly #tcpdump: ChildProcessByStdio<null, Readable, Readable>
  readonly #closed: Promise<unknown>
  readonly #chunks: Buffer[] = []

  /** Captures packets to and from a port of the loopback interface. May need root. */
  static async start(port: number): Promise<Capture> {
    const capture = new Capture(port)
    // It prints errors until it is listening. The stream must stay open after that.
    const lines: string[] = []
    for await (const [line] of on(createInterface(capture.#tcpdump.stderr), "line", UNTIL_CLOSE)) {
      if (line.includes("listening on")) return capture
      lines.push(line)
    }
    await capture.#closed
    throw new Error(`tcpdump ended: ${lines.join("\n")}`)
  }

  private constructor(port: number) {
    // Not in immediate mode, in which the buffer has room for few packets, and drops others if tcpdump is late.
    const args = ["-i", "lo", "-s", "0", "-B", "65536", "-U", "-w", "-"]
    this.#tcpdump = spawn("tcpdump", [...args, `tcp port ${port}`], {
      stdio: ["ignore", "pipe", "pipe"],
    })
    this.#closed = once(this.#tcpdump, "close")
    this.#closed.catch(() => {}) // reported where it is awaited
    this.#tcpdump.stdout.on("data", (chunk) => this.#chunks.push(chunk))
  }

  /** The .pcap file so far. */
  file(): Buffer {
    return Buffer.concat(this.#chunks)
  }

  /** The only connection so far. */
  wire(): Wire {
    return follow(this.file(), 1)[0] as Wire
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#tcpdump.kill()
    await this.#closed
  }
}
