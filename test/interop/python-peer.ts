/** python_peer.py as an object. */
import { type ChildProcessByStdio, spawn } from "node:child_process"
import { once } from "node:events"
import { createInterface } from "node:readline"
import type { Readable, Writable } from "node:stream"
import { fileURLToPath } from "node:url"

import { python } from "./python.js"
import type { Stream, Summary } from "./stream.js"

const PEER = fileURLToPath(new URL("python_peer.py", import.meta.url))

export interface Setup {
  /** pyomq, or pyzmq by its name in Python. */
  module: "pyomq" | "zmq"
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

export class PythonPeer implements AsyncDisposable {
  readonly #child: ChildProcessByStdio<Writable, Readable, Readable>
  readonly #closed: Promise<unknown>
  readonly #lines: AsyncIterator<string>
  #errors = ""
  #endpoint = ""

  static async start({ dictionary, ...setup }: Setup): Promise<PythonPeer> {
    const hex = dictionary && { dictionary: Buffer.from(dictionary).toString("hex") }
    const peer = new PythonPeer(JSON.stringify({ ...setup, ...hex }))
    peer.#endpoint = (await peer.#answer()).endpoint
    return peer
  }

  private constructor(setup: string) {
    this.#child = spawn(python(), [PEER, setup], { stdio: ["pipe", "pipe", "pipe"] })
    this.#closed = once(this.#child, "close")
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

  async [Symbol.asyncDispose](): Promise<void> {
    this.#child.kill("SIGKILL")
    await this.#closed
  }

  async #answer(): Promise<Answer> {
    const { done, value } = await this.#lines.next()
    if (!done) return JSON.parse(value)
    await this.#closed
    throw new Error(`the peer in Python ended: ${this.#errors}`)
  }
}
