/** Records the wire bytes of two peers, with a relay between them. */
import { Relay } from "../support/relay.js"
import { formOf, zstdFormOf } from "../support/wire.js"
import { messagesOf, parseStream } from "../support/zmtp.js"

/** The forms of a part on the wire: those of RFC.md section 4, and the origin of a dictionary. */
export const FORMS = [
  ...["plain", "LZ4B", "LZ4M", "given LZ4D", "trained LZ4D", "LZ4A"],
  ...["frame", "given ZDICT", "trained ZDICT", "ZSTA"],
] as const
export type Form = (typeof FORMS)[number]

const SCHEME = /^[a-z0-9]+\+tcp:\/\//

/** The data that one side has sent. */
export interface Sent {
  /** The number of messages, including those in arenas. */
  messages: number
  /** The forms of its parts, in the order of FORMS. */
  forms: Form[]
}

/** The offset of the message count in an arena (RFC.md appendix A). */
const ARENA_COUNT_OFFSET = 12

export class Tap implements Disposable {
  readonly #relay: Relay
  readonly #scheme: string

  /** Places a tap in front of a bound peer. */
  static async before(endpoint: string): Promise<Tap> {
    return new Tap(await Relay.before(endpoint), SCHEME.exec(endpoint)?.[0] ?? "")
  }

  private constructor(relay: Relay, scheme: string) {
    this.#relay = relay
    this.#scheme = scheme
  }

  /** The endpoint to connect to. */
  get endpoint(): string {
    return this.#relay.endpointOf(this.#scheme)
  }

  /** Returns the data that one side has sent so far. There is one connection, unless a peer gave up the first. */
  sentBy(side: "connecting" | "bound", dictionary?: Uint8Array): Sent {
    const way = side === "connecting" ? "fromClient" : "fromServer"
    const chunks = this.#relay.connections.flatMap((connection) => connection[way])
    const messages = messagesOf(parseStream(Buffer.concat(chunks)).frames)
    const seen = new Set(messages.flat().map((part) => nameOf(part, dictionary)))
    return {
      messages: messages.reduce((sum, [first]) => sum + messagesIn(first as Uint8Array), 0),
      forms: FORMS.filter((form) => seen.has(form)),
    }
  }

  [Symbol.dispose](): void {
    this.#relay.close()
  }
}

function nameOf(part: Uint8Array, dictionary: Uint8Array | undefined): Form {
  const form = formOf(part) ?? zstdFormOf(part)
  if (form === undefined) throw new Error(`a part that begins with ${part.subarray(0, 4)}`)
  if (form !== "LZ4D" && form !== "ZDICT") return form
  const sent = form === "LZ4D" ? part.subarray(4) : part
  const isGiven = dictionary && Buffer.compare(sent, dictionary) === 0
  return `${isGiven ? "given" : "trained"} ${form}`
}

/** Returns the number of messages in a wire message, by its first part. */
function messagesIn(part: Uint8Array): number {
  const form = formOf(part) ?? zstdFormOf(part)
  if (form === "LZ4A" || form === "ZSTA") return Buffer.from(part).readUInt32LE(ARENA_COUNT_OFFSET)
  return form === "LZ4D" || form === "ZDICT" ? 0 : 1
}
