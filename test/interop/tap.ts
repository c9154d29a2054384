/** A TCP relay between two peers, which keeps what went through it. */
import { once } from "node:events"
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net"

import { formOf } from "../support/wire.js"
import { messagesOf, parseStream } from "../support/zmtp.js"

/** What a part can be on the wire: as RFC.md section 4 has it, and who made the dictionary. */
export const FORMS = ["plain", "LZ4B", "LZ4M", "given LZ4D", "trained LZ4D", "LZ4A"] as const
export type Form = (typeof FORMS)[number]

/** What one side has put on the wire. */
export interface Sent {
  /** Those in arenas too, dictionaries not. */
  messages: number
  /** How many parts there were of each form. */
  parts: Record<Form, number>
}

/** Where an arena says how many messages it holds. RFC.md appendix A. */
const ARENA_COUNT_OFFSET = 12

export class Tap implements AsyncDisposable {
  readonly #server: Server
  readonly #sockets: Socket[] = []
  /** Chunks of all connections together: there is one, unless a peer gave up on the first. */
  readonly #chunks: Record<"connecting" | "bound", Buffer[]> = { connecting: [], bound: [] }

  /** A relay to a bound peer. */
  static async before(endpoint: string): Promise<Tap> {
    const tap = new Tap(new URL(endpoint.replace("lz4+tcp", "http")))
    await once(tap.#server, "listening")
    return tap
  }

  private constructor({ hostname, port }: URL) {
    this.#server = createServer((connecting) => {
      const bound = connect({ host: hostname, port: Number(port) })
      this.#relay(connecting, bound, this.#chunks.connecting)
      this.#relay(bound, connecting, this.#chunks.bound)
    }).listen(0, "127.0.0.1")
  }

  /** What to connect to. */
  get endpoint(): string {
    return `lz4+tcp://127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  /** What the one side has sent so far. */
  sentBy(side: "connecting" | "bound", dictionary?: Uint8Array): Sent {
    const { frames } = parseStream(Buffer.concat(this.#chunks[side]))
    const parts = Object.fromEntries(FORMS.map((form) => [form, 0])) as Sent["parts"]
    let messages = 0
    for (const message of messagesOf(frames)) {
      for (const part of message) parts[nameOf(part, dictionary)]++
      const [first = new Uint8Array()] = message
      const form = formOf(first)
      if (form === "LZ4A")
        messages += Buffer.from(first.buffer, first.byteOffset).readUInt32LE(ARENA_COUNT_OFFSET)
      else if (form !== "LZ4D") messages++
    }
    return { messages, parts }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const socket of this.#sockets) socket.destroy()
    this.#server.close()
    await once(this.#server, "close")
  }

  #relay(from: Socket, to: Socket, chunks: Buffer[]): void {
    this.#sockets.push(from)
    from.setNoDelay(true)
    from.on("data", (chunk) => chunks.push(chunk))
    from.on("error", () => to.destroy())
    from.on("close", () => to.destroySoon())
    from.pipe(to)
  }
}

function nameOf(part: Uint8Array, dictionary: Uint8Array | undefined): Form {
  const form = formOf(part)
  if (form === undefined) throw new Error(`a part that begins with ${part.subarray(0, 4)}`)
  if (form !== "LZ4D") return form
  const isGiven = dictionary && Buffer.compare(part.subarray(4), dictionary) === 0
  return isGiven ? "given LZ4D" : "trained LZ4D"
}
