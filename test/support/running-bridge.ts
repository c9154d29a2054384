/** `zeromq-lz4 bridge` in a process of its own. */
import { spawn } from "node:child_process"
import { fileURLToPath } from "node:url"

import { Running } from "./running-script.js"

const main = fileURLToPath(new URL("../../dist/cli/main.js", import.meta.url))

export class RunningBridge extends Running {
  /** What it has printed, as far as it was waited for. */
  readonly lines: string[] = []
  #endpoint = ""

  /** Resolves when it listens. */
  static async start(from: string, to: string, ...options: string[]): Promise<RunningBridge> {
    const bridge = new RunningBridge(["--from", from, "--to", to, ...options])
    bridge.#endpoint = (await bridge.until(/^listening on (\S+),/))[1] as string
    return bridge
  }

  private constructor(args: string[]) {
    const stdio = ["ignore", "pipe", "pipe"] as ["ignore", "pipe", "pipe"]
    super(spawn(process.execPath, [main, "bridge", ...args], { stdio }))
  }

  /** Where it listens, with the real port. */
  get endpoint(): string {
    return this.#endpoint
  }

  /** Reads lines until one matches. */
  async until(pattern: RegExp): Promise<RegExpExecArray> {
    for (;;) {
      const line = await this.line()
      this.lines.push(line)
      const match = pattern.exec(line)
      if (match) return match
    }
  }

  signal(signal: NodeJS.Signals): void {
    this.process.kill(signal)
  }
}
