/** Runs `zeromq-lz4 bridge` in a separate process. */
import { spawn } from "node:child_process"
import { fileURLToPath } from "node:url"

import { PATIENCE } from "./patience.js"
import { Running } from "./running-script.js"

const main = fileURLToPath(new URL("../../dist/cli/main.js", import.meta.url))

/** The time at the beginning of each line, unless it is JSON. */
const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z /

export class RunningBridge extends Running {
  /** The lines printed so far, without times, up to the last one that was waited for. */
  readonly lines: string[] = []
  #endpoint = ""

  /** Starts a bridge whose time limits do not expire during a test. Resolves when it listens. */
  static start(from: string, to: string, ...options: string[]): Promise<RunningBridge> {
    return RunningBridge.#start([PATIENCE], ["--from", from, "--to", to, ...options])
  }

  /** Starts a bridge with its own time limits. Resolves when it listens. */
  static startImpatient(from: string, to: string): Promise<RunningBridge> {
    return RunningBridge.#start([], ["--from", from, "--to", to])
  }

  static async #start(node: string[], args: string[]): Promise<RunningBridge> {
    const bridge = new RunningBridge(node, args)
    const [, words, json] = await bridge.until(/^listening on (\S+),|"endpoint":"(.*?)"/)
    bridge.#endpoint = (words ?? json) as string
    return bridge
  }

  private constructor(node: string[], args: string[]) {
    const stdio = ["ignore", "pipe", "pipe"] as ["ignore", "pipe", "pipe"]
    super(spawn(process.execPath, [...node, main, "bridge", ...args], { stdio }))
  }

  /** The endpoint at which it listens, with the real port. */
  get endpoint(): string {
    return this.#endpoint
  }

  /** Reads lines until one matches. */
  async until(pattern: RegExp): Promise<RegExpExecArray> {
    for (;;) {
      const printed = await this.line()
      if (!TIME.test(printed) && !printed.startsWith("{"))
        throw new Error(`a line without a time: ${printed}`)
      const line = printed.replace(TIME, "")
      this.lines.push(line)
      const match = pattern.exec(line)
      if (match) return match
    }
  }

  signal(signal: NodeJS.Signals): void {
    this.process.kill(signal)
  }
}
