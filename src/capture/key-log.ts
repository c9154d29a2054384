import { KEY_BYTES } from "../curve/curve.js"

/** Longer lines are comments, or none that are allowed. */
const LINE_MAX_CHARS = 1000
/** A key; behind a line that a full disk cut off, there is no end of a line. */
const KEY = /CURVE ([0-9a-f]{64}) ([0-9a-f]{64})(?=$|CURVE)/gi

/**
 * The keys of connections with CURVE, as `ZEROMQ_LZ4_KEYLOG` makes a process write them: a line
 * `CURVE <public key> <key>` for each connection, both in hexadecimal. The public key is the client's
 * short-term one, which its HELLO has in the clear, and the key opens the messages of both sides
 * (RFC 26 of the ZeroMQ project). Empty lines and those that begin with # are ignored.
 */
export class KeyLog {
  readonly #keys = new Map<string, Uint8Array>()
  #lines = 0
  /** The beginning of a line whose end has not been added. */
  #rest = ""

  /**
   * Reads a log, or its beginning.
   *
   * @param text the content of the file. Default: none.
   * @throws SyntaxError if a line is neither a key nor a comment. It is not quoted.
   */
  constructor(text = "") {
    this.add(text)
  }

  /** Number of connections whose keys are known. */
  get size(): number {
    return this.#keys.size
  }

  /**
   * Adds what was appended to the log meanwhile. Readers that have the log find the new keys, too.
   *
   * @param text the next characters of the file, which may end anywhere.
   * @throws SyntaxError like the constructor.
   */
  add(text: string): void {
    const lines = (this.#rest + text).split("\n")
    this.#rest = lines.pop() as string
    for (const line of lines) this.#addLine(line.trim())
    if (this.#rest.length <= LINE_MAX_CHARS) {
      // The last line of a file may have no end.
      if (!this.#rest.startsWith("#")) this.#take(this.#rest)
      return
    }
    this.#addLine(this.#rest)
    this.#lines--
    this.#rest = "#" // the beginning of a long comment
  }

  /**
   * Returns the key of a connection, of 32 bytes; undefined if the log does not have it.
   *
   * @param client the short-term public key of the connection's client, of 32 bytes.
   */
  keyOf(client: Uint8Array): Uint8Array | undefined {
    return this.#keys.get(hex(client))
  }

  /** The keys of all connections, in the order in which they were added. */
  get keys(): Iterable<Uint8Array> {
    return this.#keys.values()
  }

  #addLine(line: string): void {
    this.#lines++
    if (line === "" || line.startsWith("#") || this.#take(line)) return
    const what = "CURVE, a public key and a key of 64 hexadecimal digits each"
    throw new SyntaxError(`line ${this.#lines} of the key log is not ${what}`)
  }

  /** Adds the key in a line, or those behind lines that were cut off. Returns false if it has none. */
  #take(line: string): boolean {
    let isFound = false
    for (const [, client = "", key = ""] of line.matchAll(KEY)) {
      isFound = true
      const bytes = new Uint8Array(KEY_BYTES)
      for (let i = 0; i < KEY_BYTES; i++)
        bytes[i] = Number.parseInt(key.slice(2 * i, 2 * i + 2), 16)
      this.#keys.set(client.toLowerCase(), bytes)
    }
    return isFound
  }
}

const hex = (bytes: Uint8Array): string =>
  Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("")
