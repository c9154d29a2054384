import { closed } from "../codec/errors.js"
import { loadInstanceSync } from "../codec/module.js"
import { checkBudget, checkBytes, checkDictionary, checkNames } from "../codec/options.js"
import type { CaptureEvent, CaptureOptions } from "./events.js"
import { StreamReader } from "./packets/stream-reader.js"
import { type CaptureContext, ZmtpConnection } from "./streams/zmtp-connection.js"

/** Those of `CaptureOptions`. */
export const OPTION_NAMES: readonly string[] = ["maxMessageSize", "dictionary", "wasm"]

/**
 * A capture file in, chunk by chunk; what it holds out, in order. It does no I/O.
 *
 * On the main thread of a page some browsers load no module without waiting: there `readCapture`
 * is for all, and makes this work from then on.
 */
export class CaptureReader {
  readonly #streams: StreamReader
  readonly #connections = new Set<ZmtpConnection>()
  #events: CaptureEvent[] = []
  #closed = false
  #tcpConnections = 0

  /**
   * @throws TypeError, RangeError for options that are unknown or out of range.
   * @throws Error with the code ERR_LZ4_WASM when the module cannot be loaded.
   */
  constructor(options: CaptureOptions = {}) {
    checkNames(options, OPTION_NAMES)
    const { maxMessageSize, dictionary, wasm } = options
    let id = 0
    const context: CaptureContext = {
      budgetBytes: checkBudget(maxMessageSize),
      dictionary: dictionary === undefined ? undefined : checkDictionary(dictionary),
      instance: loadInstanceSync(wasm),
      emit: (event) => this.#events.push(event),
      nextId: () => ++id,
      ended: (connection) => this.#connections.delete(connection),
    }
    this.#streams = new StreamReader(
      (tcp) => {
        this.#tcpConnections++
        const connection = new ZmtpConnection(context, tcp)
        this.#connections.add(connection)
        return connection
      },
      (error) => this.#events.push({ type: "error", connection: undefined, error }),
    )
  }

  /** TCP connections with data so far; ZMTP or not. */
  get tcpConnections(): number {
    return this.#tcpConnections
  }

  /**
   * The next bytes of the file, which the caller may reuse afterwards. Returns what they complete.
   *
   * @throws CaptureFormatError when the file is no capture; the reader is closed then.
   * @throws TypeError when `chunk` is not a Uint8Array.
   * @throws Error with the code ERR_LZ4_CLOSED after `close`.
   */
  push(chunk: Uint8Array): CaptureEvent[] {
    this.#checkOpen()
    checkBytes("chunk", chunk)
    return this.#run(() => this.#streams.push(chunk))
  }

  /**
   * The file ends here. Returns the last events and closes the reader.
   *
   * @throws CaptureFormatError when the file is no capture.
   * @throws Error with the code ERR_LZ4_CLOSED after `close` or `end`.
   */
  end(): CaptureEvent[] {
    this.#checkOpen()
    const events = this.#run(() => this.#streams.end())
    this.close()
    return events
  }

  /** Frees its memory. It cannot be used afterwards; closing again does nothing. */
  close(): void {
    this.#closed = true
    for (const connection of this.#connections) connection.close()
    this.#connections.clear()
  }

  /** Calls `close`, for `using`. */
  [Symbol.dispose](): void {
    this.close()
  }

  #checkOpen(): void {
    if (this.#closed) throw closed("the capture reader")
  }

  #run(work: () => void): CaptureEvent[] {
    try {
      work()
    } catch (error) {
      this.close()
      throw error
    }
    const events = this.#events
    this.#events = []
    return events
  }
}
