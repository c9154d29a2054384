/** `zeromq-lz4 live`, as it ships. */
import { spawn } from "node:child_process"
import { once } from "node:events"
import { main } from "./command.js"
import { Running } from "./running-script.js"

export class RunningLive extends Running {
  #url = ""

  /** Starts it. Resolves when it serves its page. */
  static async start(...args: string[]): Promise<RunningLive> {
    const live = new RunningLive(args)
    const [, url] = /^the page: (http:\/\/127\.0\.0\.1:\d+\/[\w-]{22}\/)$/.exec(
      await live.line(),
    ) as RegExpExecArray
    live.#url = url as string
    return live
  }

  private constructor(args: string[]) {
    super(spawn(process.execPath, [main, "live", ...args], { stdio: "pipe" }))
  }

  get url(): string {
    return this.#url
  }

  /** Writes to its standard input. */
  async write(bytes: Uint8Array): Promise<void> {
    if (!this.process.stdin?.write(bytes)) await once(this.process.stdin!, "drain")
  }

  /** Ends its standard input. */
  end(): void {
    this.process.stdin?.end()
  }

  /** Returns the answer to a request for the recording, from a place on. */
  recording(from = 0): Promise<Response> {
    return fetch(`${this.#url}recording?from=${from}`)
  }
}
