import { MessageChannel, type MessagePort, receiveMessageOnPort, Worker } from "node:worker_threads"
import { type Pending, pendingElsewhere, writeOff } from "./admission.js"
import { writeCall } from "./call-text.js"
import type { HostPort } from "./endpoint.js"
import { type ErrorInfo, errorFrom } from "./error-info.js"
import { Hub } from "./hub.js"
import type { DialSpec, ListenSpec, TransportEvent } from "./protocol.js"

/** Where links live, seen from the thread of the sockets. */
export interface LinkThread {
  listen(endpoint: number, spec: ListenSpec): Promise<HostPort>
  /** @throws Error where the links live on this thread, which cannot wait for itself. */
  listenSync(endpoint: number, spec: ListenSpec): HostPort
  activate(endpoint: number): void
  dial(endpoint: number, spec: DialSpec): void
  release(endpoint: number, lingerMs: number): void
  /** Whether the process stays alive for what happens on the thread. */
  hold(held: boolean): void
  stop(): void
}

type Emit = (event: TransportEvent) => void

/** Links on the calling thread, among everything else that it does. */
export class SameThread extends Hub implements LinkThread {
  #alive: NodeJS.Timeout | undefined

  listenSync(): HostPort {
    throw Object.assign(
      new Error(
        "bindSync() needs the links' own thread: leave out { thread: false }, or use bind()",
      ),
      { code: "ENOTSUP" },
    )
  }

  hold(held: boolean): void {
    clearInterval(this.#alive)
    this.#alive = held ? setInterval(() => {}, 1 << 30) : undefined
  }

  stop(): void {
    this.hold(false)
  }
}

/** What the worker is started with. */
export interface ThreadData {
  calls: MessagePort
  /** Answers to calls that the other side is blocked in. */
  answers: MessagePort
  /** Changed and notified with each of those. */
  signal: Int32Array
  /** How many connections libzmq has yet to accept. */
  pending: Pending
}

export type CallName = "listen" | "activate" | "dial" | "release"

/** A call to the worker, and how it is answered. It crosses as text (call-text.ts). */
export interface Call {
  id: number
  name: CallName
  args: unknown[]
  answer: "none" | "message" | "signal"
}

export interface Answer {
  id: number
  result?: unknown
  error?: ErrorInfo
}

/** What the worker says of its own accord, or when it is asked for a message. */
export type Notice = { event: TransportEvent } | { answer: Answer }

/** The longest that a call may block: the worker may be in the middle of a part of a gigabyte. */
const BLOCKED_MAX_MS = 60_000

/** Links on a worker thread. */
export class WorkerThread implements LinkThread {
  readonly #worker: Worker
  readonly #calls: MessagePort
  readonly #answers: MessagePort
  readonly #signal = new Int32Array(new SharedArrayBuffer(4))
  readonly #waiting = new Map<number, (answer: Answer) => void>()
  #held = false
  #count = 0

  /** @param lost called when the thread ended by itself, before that is thrown. */
  constructor(emit: Emit, lost: () => void) {
    const calls = new MessageChannel()
    const answers = new MessageChannel()
    const pending = pendingElsewhere()
    const workerData: ThreadData = {
      calls: calls.port2,
      answers: answers.port2,
      signal: this.#signal,
      pending,
    }
    // The build puts this code at the top of dist/, whatever folder it is written in.
    this.#worker = new Worker(new URL("./transport/link-thread.js", import.meta.url), {
      name: "zeromq-lz4",
      workerData,
      transferList: [calls.port2, answers.port2],
      execArgv: [], // the application's loaders and hooks are not for us
    })
    this.#worker.unref()
    this.#worker.once("exit", () => {
      const message = "the thread of lz4+tcp:// ended, and all its connections with it"
      writeOff(pending)
      for (const [id, answered] of this.#waiting) answered({ id, error: { message } })
      lost()
      throw new Error(message) // nobody asked, so nobody could catch it
    })
    this.#calls = calls.port1
    this.#answers = answers.port1
    this.#calls.on("message", (notice: Notice) => {
      if ("event" in notice) emit(notice.event)
      else this.#answered(notice.answer)
    })
    this.#keepAlive()
  }

  async listen(endpoint: number, spec: ListenSpec): Promise<HostPort> {
    const id = this.#post("listen", [endpoint, spec], "message")
    const answer = new Promise<Answer>((resolve) => this.#waiting.set(id, resolve))
    this.#keepAlive()
    return result(await answer) as HostPort
  }

  listenSync(endpoint: number, spec: ListenSpec): HostPort {
    return this.#block("listen", [endpoint, spec]) as HostPort
  }

  activate(endpoint: number): void {
    this.#post("activate", [endpoint], "none")
  }

  dial(endpoint: number, spec: DialSpec): void {
    this.#block("dial", [endpoint, spec])
  }

  release(endpoint: number, lingerMs: number): void {
    this.#post("release", [endpoint, lingerMs], "none")
  }

  hold(held: boolean): void {
    this.#held = held
    this.#keepAlive()
  }

  stop(): void {
    this.#calls.close()
    this.#answers.close()
    this.#worker.removeAllListeners("exit")
    void this.#worker.terminate()
  }

  #answered(answer: Answer): void {
    this.#waiting.get(answer.id)?.(answer)
    this.#waiting.delete(answer.id)
    this.#keepAlive()
  }

  #keepAlive(): void {
    if (this.#held || this.#waiting.size > 0) this.#calls.ref()
    else this.#calls.unref()
  }

  #post(name: CallName, args: unknown[], answer: Call["answer"]): number {
    const id = this.#count++
    this.#calls.postMessage(writeCall({ id, name, args, answer }))
    return id
  }

  /** Calls and waits, because connect() and bindSync() return when it is done. */
  #block(name: CallName, args: unknown[]): unknown {
    const id = this.#post(name, args, "signal")
    for (;;) {
      const before = Atomics.load(this.#signal, 0)
      const received = receiveMessageOnPort(this.#answers) as { message: Answer } | undefined
      // Another answer is one that came too late.
      if (received?.message.id === id) return result(received.message)
      if (received) continue
      if (Atomics.wait(this.#signal, 0, before, BLOCKED_MAX_MS) === "timed-out")
        throw new Error(`the thread of lz4+tcp:// did not answer in ${BLOCKED_MAX_MS} ms`)
    }
  }
}

function result({ result, error }: Answer): unknown {
  if (error) throw errorFrom(error)
  return result
}
