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
  /** How many there were, those in arenas too. */
  messages: number
  /** Those of its parts, in the order of FORMS. */
  forms: Form[]
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
    const messages = messagesOf(frames)
    const seen = new Set(messages.flat().map((part) => nameOf(part, dictionary)))
    return {
      messages: messages.reduce((sum, [first]) => sum + messagesIn(first as Uint8Array), 0),
      forms: FORMS.filter((form) => seen.has(form)),
    }
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

/** How many messages one on the wire stands for, by its first part. */
function messagesIn(part: Uint8Array): number {
  const form = formOf(part)
  if (form === "LZ4A") return Buffer.from(part).readUInt32LE(ARENA_COUNT_OFFSET)
  return form === "LZ4D" ? 0 : 1
}
