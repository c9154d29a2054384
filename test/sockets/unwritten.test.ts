/** Messages not yet written when a peer closes its side go to the next connection. */
import { createServer, type Socket as NetSocket } from "node:net"
import { setImmediate as turn } from "node:timers/promises"
import { describe, expect, onTestFinished, test } from "vitest"
import { Push } from "zeromq-lz4"

import { use } from "../support/sockets.js"
import { plain, threaded } from "../support/threads.js"
import { handshake, messagesOf, parseStream } from "../support/zmtp.js"

/** A PULL that closes its side of each connection after a number of messages. */
class ClosingPull {
  readonly #server = createServer({ allowHalfOpen: true })
  readonly #patience: number
  /** The messages received, by connection. */
  readonly #streams: Buffer[] = []
  /** How many they are: reading all streams anew for each chunk would take seconds. */
  readonly #counts: number[] = []
  #counted: { count: number; resolve: () => void } | undefined
  closes = 0

  constructor(patience: number) {
    this.#patience = patience
    this.#server.on("connection", (socket) => this.#take(socket))
    onTestFinished(() => {
      this.#server.close()
    })
  }

  async listen(): Promise<string> {
    await new Promise<void>((resolve) => this.#server.listen(0, "127.0.0.1", resolve))
    return `lz4+tcp://127.0.0.1:${(this.#server.address() as { port: number }).port}`
  }

  #take(socket: NetSocket): void {
    const number = this.#streams.push(Buffer.alloc(0)) - 1
    this.#counts.push(0)
    let closed = false
    socket.write(handshake("PULL"))
    socket.on("data", (bytes) => {
      this.#streams[number] = Buffer.concat([this.#streams[number] as Buffer, bytes])
      if (!closed || this.#counted) this.#counts[number] = this.#messagesOf(number).length
      if (!closed && (this.#counts[number] as number) >= this.#patience) {
        closed = true
        this.closes++
        socket.end()
      }
      this.#check()
    })
    socket.on("error", () => {})
    onTestFinished(() => {
      socket.destroy()
    })
  }

  #messagesOf(stream: number): string[] {
    const { frames } = parseStream(this.#streams[stream] as Buffer)
    return messagesOf(frames).map(([part]) => Buffer.from(part as Uint8Array).toString("utf8", 4))
  }

  get messages(): string[] {
    return this.#streams.flatMap((_, number) => this.#messagesOf(number))
  }

  #check(): void {
    const count = this.#counts.reduce((sum, one) => sum + one, 0)
    if (this.#counted && count >= this.#counted.count) this.#counted.resolve()
  }

  async received(count: number): Promise<void> {
    await new Promise<void>((resolve) => {
      this.#counted = { count, resolve }
      for (const number of this.#streams.keys())
        this.#counts[number] = this.#messagesOf(number).length
      this.#check()
    })
  }
}

describe.each([
  { where: "on the calling thread", options: plain },
  { where: "on a thread", options: threaded },
])("$where", ({ options }) => {
  test.each([1, 20, 200])(
    "messages sent in bursts of %i while peers close arrive once, in order",
    async (burst) => {
      const pull = new ClosingPull(3 * burst)
      const push = use(new Push({ reconnectInterval: 1, sendHighWaterMark: 0 }))
      push.connect(await pull.listen(), options)
      let sent = 0
      while (pull.closes < 20) {
        for (let i = 0; i < burst; i++) await push.send(String(sent++))
        await turn()
      }
      await pull.received(sent)
      expect(pull.messages).toEqual(Array.from({ length: sent }, (_, i) => String(i)))
    },
  )
})
