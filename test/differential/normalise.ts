/** Converts observations to JSON that does not depend on the run: hosts, ports, ids and intervals get names. */
import { createHash } from "node:crypto"
import { withoutOwnHost } from "./hosts.js"

export type Json = string | number | boolean | null | Json[] | { [key: string]: Json }

/** Longer texts and bytes are compared by their hash. */
const SHOWN_BYTES = 200

const AUTO_ID_BYTES = 5

export class Normaliser {
  readonly #ports = new Map<string, string>()
  readonly #inprocs = new Map<string, string>()
  readonly #ids = new Map<string, string>()

  of(value: unknown): Json {
    if (value === undefined) return "<undefined>"
    if (value === null || typeof value === "boolean") return value
    if (typeof value === "number") return Number.isFinite(value) ? value : String(value)
    if (typeof value === "string") return this.#text(value)
    if (value instanceof Uint8Array) return this.#bytes(value)
    if (Array.isArray(value)) return value.map((one) => this.of(one))
    if (value instanceof Error) return this.#error(value)
    if (typeof value !== "object") return `<${typeof value}>`
    return Object.fromEntries(
      Object.entries(value).map(([key, one]) => [
        key,
        key === "interval" ? "<interval>" : this.of(one),
      ]),
    )
  }

  #error(error: Error): Json {
    const { code, errno, address, status } = error as Error & Record<string, unknown>
    const seen = { name: error.name, code, message: error.message, errno, address, status }
    return Object.fromEntries(
      Object.entries(seen)
        .filter(([, one]) => one !== undefined)
        // Explanations are removed later, so their content gets no names.
        .map(([key, one]) => [key, key === "message" ? (one as string) : this.of(one)]),
    )
  }

  #text(text: string): string {
    const named = withoutOwnHost(text)
      .replaceAll(/(lz4|zstd)\+tcp:\/\//g, "tcp://")
      .replace(/inproc:\/\/differential-\d+/g, (name) => nameOf(this.#inprocs, name, "inproc"))
      .replace(
        /(tcp:\/\/[^\s"']*:|^127\.0\.0\.1:)(\d{4,5})(?=$|[\s"';,)/|])/g,
        (_, head: string, port: string) => {
          return head + nameOf(this.#ports, port, "port")
        },
      )
    return named.length <= SHOWN_BYTES ? named : summary(Buffer.from(named))
  }

  // In XPUB's notices, topics of four letters look like ids, so scenarios have none.
  #bytes(bytes: Uint8Array): string {
    if (bytes.length === AUTO_ID_BYTES && bytes[0] === 0)
      return nameOf(this.#ids, Buffer.from(bytes).toString("hex"), "id")
    if (bytes.length > SHOWN_BYTES) return summary(bytes)
    const text = Buffer.from(bytes).toString("utf8")
    // biome-ignore lint/suspicious/noControlCharactersInRegex: the pattern is for control characters
    const printable = !/[\u0000-\u001f\u007f\ufffd]/.test(text)
    return printable ? this.#text(text) : `hex:${Buffer.from(bytes).toString("hex")}`
  }
}

/**
 * Removes the explanations from observed errors, which have libzmq's message, a colon and the
 * explanation. Each must begin with libzmq's message at the same place.
 */
export function withoutExplanations(seen: Json, libzmq: Json): Json {
  if (typeof seen !== "object" || typeof libzmq !== "object" || !seen || !libzmq) return seen
  if (Array.isArray(seen) || Array.isArray(libzmq)) {
    if (!Array.isArray(seen) || !Array.isArray(libzmq)) return seen
    return seen.map((one, i) => withoutExplanations(one, libzmq[i] ?? null))
  }
  return Object.fromEntries(
    Object.entries(seen).map(([key, one]) => {
      const words = libzmq[key] ?? null
      if (key !== "message" || typeof one !== "string" || !("name" in seen))
        return [key, withoutExplanations(one, words)]
      return [key, one.startsWith(`${words}: `) ? words : one]
    }),
  )
}

function nameOf(names: Map<string, string>, key: string, kind: string): string {
  const name = names.get(key) ?? `<${kind} ${names.size + 1}>`
  names.set(key, name)
  return name
}

function summary(bytes: Uint8Array): string {
  const hash = createHash("sha256").update(bytes).digest("hex").slice(0, 16)
  return `<${bytes.length} bytes, ${hash}>`
}
