/** A socket in a separate process, controlled with the protocol of python_peer.py. */
import { type ChildProcessByStdio, spawn } from "node:child_process"
import { once } from "node:events"
import { createInterface } from "node:readline"
import type { Readable, Writable } from "node:stream"

import type { Stream, Summary } from "./stream.js"

export interface Setup {
  type: string
  bind?: string
  connect?: string
  /** Options of the socket, with the peer's names. */
  options?: Record<string, string | number | boolean>
  dictionary?: Uint8Array
  subscribe?: readonly string[]
  /** Variables of its process, besides ours. */
  environment?: Record<string, string>
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
  /** The parts as hex; null if there was no message. */
  parts: string[] | null
}

export class Peer implements AsyncDisposable {
  readonly #child: ChildProcessByStdio<Writable, Readable, Readable>
  readonly #closed: Promise<unknown>
  readonly #lines: AsyncIterator<string>
  #errors = ""
  #endpoint = ""

  /** Runs `command` with the set-up as its last argument. */
  static async start(
    command: readonly string[],
    { dictionary, environment, ...setup }: Setup,
  ): Promise<Peer> {
    const hex = dictionary && { dictionary: Buffer.from(dictionary).toString("hex") }
    const peer = new Peer([...command, JSON.stringify({ ...setup, ...hex })], environment)
    peer.#endpoint = (await peer.#answer()).endpoint
    return peer
  }

  private constructor(
    [program = "", ...args]: readonly string[],
    environment?: Record<string, string>,
  ) {
    this.#child = spawn(program, args, {
      env: { ...process.env, ...environment },
      stdio: ["pipe", "pipe", "pipe"],
    })
    this.#closed = once(this.#child, "close")
    this.#child.stderr.setEncoding("utf8").on("data", (text) => {
      this.#errors += text
    })
    this.#lines = createInterface(this.#child.stdout)[Symbol.asyncIterator]()
  }

  /** The bound endpoint. */
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
    throw new Error(`the peer ended: ${this.#errors}`)
  }
}
