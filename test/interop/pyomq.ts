/** pyomq_peer.py as an object. */
import { type ChildProcessByStdio, spawn } from "node:child_process"
import { once } from "node:events"
import { createInterface } from "node:readline"
import type { Readable, Writable } from "node:stream"
import { fileURLToPath } from "node:url"

import { pythonPath } from "../../scripts/lib/python.mjs"
import type { Stream, Summary } from "./stream.js"

const PEER = fileURLToPath(new URL("pyomq_peer.py", import.meta.url))

export interface Setup {
  type: string
  bind?: string
  connect?: string
  /** Attributes of the socket. */
  options?: Record<string, string | number>
  dictionary?: Uint8Array
  subscribe?: readonly string[]
  /** Makes it a server for this name and password. */
  plainAuth?: readonly [name: string, password: string]
}

export type Command =
  | {
      do: "send" | "receive" | "ask" | "echo" | "echoFrames"
      stream: Stream
      envelope?: number
      probe?: string
    }
  | { do: "sendOne"; parts: readonly string[] }
  | { do: "receiveOne"; timeoutMs: number }
  | { do: "subscribe" | "unsubscribe"; topic: string }

export interface Answer extends Summary {
  endpoint: string
  envelope: string[]
  /** As hex; null when there was no message. */
  parts: string[] | null
}

export class PyomqPeer implements AsyncDisposable {
  readonly #child: ChildProcessByStdio<Writable, Readable, Readable>
  readonly #lines: AsyncIterator<string>
  #errors = ""
  #endpoint = ""

  static async start({ dictionary, ...setup }: Setup): Promise<PyomqPeer> {
    const hex = dictionary && { dictionary: Buffer.from(dictionary).toString("hex") }
    const peer = new PyomqPeer(JSON.stringify({ ...setup, ...hex }))
    peer.#endpoint = (await peer.#answer()).endpoint
    return peer
  }

  private constructor(setup: string) {
    this.#child = spawn(pythonPath, [PEER, setup], { stdio: ["pipe", "pipe", "pipe"] })
    this.#child.stderr.setEncoding("utf8").on("data", (text) => {
      this.#errors += text
    })
    this.#lines = createInterface(this.#child.stdout)[Symbol.asyncIterator]()
  }

  /** Where it is bound. */
  get endpoint(): string {
    return this.#endpoint
  }

  async do(command: Command): Promise<Answer> {
    this.#child.stdin.write(`${JSON.stringify(command)}\n`)
    return await this.#answer()
  }

  /** Lets it send what it still has, and end by itself. */
  async end(): Promise<void> {
    this.#child.stdin.end()
    const { exitCode } = this.#child
    const [code] = exitCode === null ? await once(this.#child, "close") : [exitCode]
    if (code !== 0) throw new Error(`pyomq ended with ${code}: ${this.#errors}`)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return
    this.#child.kill("SIGKILL")
    await once(this.#child, "close")
  }

  async #answer(): Promise<Answer> {
    const { done, value } = await this.#lines.next()
    if (!done) return JSON.parse(value)
    throw new Error(`pyomq ended: ${this.#errors}`)
  }
}
