import { closed, outOfRange, shown, wrongType } from "../codec/errors.js"
import { checkBudget, checkDictionary, checkView, ownOptions } from "../codec/options.js"
import type {
  CaptureConnection,
  CaptureEvent,
  CaptureOptions,
  DictionarySource,
  Side,
  Time,
} from "./events.js"
import { instancesWith } from "./instances.js"
import { KeyLog } from "./key-log.js"
import { MAX_FILES } from "./packets/file-place.js"
import { StreamReader } from "./packets/stream-reader.js"
import type { CaptureContext } from "./streams/context.js"
import { SharedMemory } from "./streams/memory.js"
import { ZmtpConnection } from "./streams/zmtp-connection.js"

/** Keys that are tried in all: a few seconds. */
const TRIES_MAX = 1 << 20

/** The names of `CaptureOptions`. */
export const OPTION_NAMES: readonly string[] = ["maxMessageSize", "dictionary", "keys", "wasm"]

/**
 * A reader of a capture file in chunks, which returns its events in order. It does no I/O.
 *
 * On the main thread of a page, some browsers cannot load the module synchronously. {@link readCapture}
 * works there, and after it this class does too.
 */
export class CaptureReader {
  readonly #streams: StreamReader
  readonly #connections = new Set<{ close(): void }>()
  #events: CaptureEvent[] = []
  readonly #memory = new SharedMemory()
  readonly #leftOut = new Map<CaptureConnection, LeftOut>()
  #closed = false
  #tcpConnections = 0

  /**
   * Makes a reader of one file, or of several.
   *
   * @param files the number of files that are read together, 1 to 4096. Default: 1.
   * @throws TypeError or RangeError if an option is unknown or out of range.
   * @throws Error with the code ERR_LZ4_WASM if the module cannot be loaded.
   */
  constructor(options: CaptureOptions = {}, files = 1) {
    if (!Number.isInteger(files) || files < 1 || files > MAX_FILES)
      throw outOfRange(`files must be an integer from 1 to ${MAX_FILES}; got ${shown(files)}`)
    const { maxMessageSize, dictionary, keys, wasm } = ownOptions(options, OPTION_NAMES)
    let id = 0
    const context: CaptureContext = {
      budgetBytes: checkBudget(maxMessageSize),
      dictionary: dictionary === undefined ? undefined : dictionarySource(dictionary),
      keys: keys && { log: checkKeys(keys), triesLeft: TRIES_MAX },
      instanceOf: instancesWith(wasm),
      emit: (event) => this.#emit(event),
      nextId: () => ++id,
      memory: this.#memory,
      told: { isCut: false },
      leaveOut: (connection, from, time, offset) => {
        const known = this.#leftOut.get(connection)
        if (known) known.count++
        else this.#leftOut.set(connection, { count: 1, from, time, offset })
      },
      ended: (connection) => this.#connections.delete(connection),
    }
    this.#streams = new StreamReader(
      (tcp) => {
        this.#tcpConnections++
        const connection = new ZmtpConnection(context, tcp)
        this.#connections.add(connection)
        return connection
      },
      (error) => this.#emit({ type: "error", connection: undefined, error }),
      files,
    )
  }

  /** Number of TCP connections with data so far, whether ZMTP or not. */
  get tcpConnections(): number {
    return this.#tcpConnections
  }

  /**
   * Numbers of packets so far that are not read, by what they are, such as "ARP (EtherType 0x0806)"
   * or "WireGuard (UDP port 51820)": at most 1000 kinds.
   */
  get unread(): ReadonlyMap<string, number> {
    return this.#streams.unread
  }

  /**
   * Numbers of connections so far that were refused, by the address and port of their server, which
   * answered the SYN with an RST: at most 1000 servers.
   */
  get refused(): ReadonlyMap<string, number> {
    return this.#streams.refused
  }

  /**
   * The file whose next bytes are needed, from 0: the packets of several files are merged by time,
   * so those of one wait for those of others. Undefined if all have ended.
   */
  get wanted(): number | undefined {
    return this.#streams.wanted
  }

  /**
   * Reads the next bytes of a file, which the caller may reuse afterwards. Returns the events that
   * they complete.
   *
   * @param file which of several files it is, from 0: `wanted`, or packets wait in memory.
   * @throws CaptureFormatError if the file is not a capture; the reader is closed then.
   * @throws TypeError if `chunk` is not a Uint8Array.
   * @throws Error with the code ERR_LZ4_CLOSED after `close`.
   */
  push(chunk: Uint8Array, file = 0): CaptureEvent[] {
    this.#checkOpen()
    const bytes = checkView("chunk", chunk)
    return this.#run(() => this.#streams.push(bytes, file))
  }

  /**
   * Ends one of several files. Returns the events that its end completes. Throws as `end` does.
   *
   * @param file which of the files, from 0.
   */
  endFile(file: number): CaptureEvent[] {
    this.#checkOpen()
    return this.#run(() => this.#streams.endFile(file))
  }

  /**
   * Ends all files. Returns the last events and closes the reader.
   *
   * @throws CaptureFormatError if a file is not a capture.
   * @throws Error with the code ERR_LZ4_CLOSED after `close` or `end`.
   */
  end(): CaptureEvent[] {
    this.#checkOpen()
    const events = this.#run(() => this.#streams.end())
    this.close()
    return events
  }

  /** Frees the reader's memory. The reader cannot be used afterwards; closing it again has no effect. */
  close(): void {
    this.#closed = true
    for (const connection of this.#connections) connection.close()
    this.#connections.clear()
  }

  /** Calls `close`, for `using`. */
  [Symbol.dispose](): void {
    this.close()
  }

  #emit(event: CaptureEvent): void {
    event.packet = this.#streams.packets || undefined
    this.#events.push(event)
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
    const { pending } = this.#memory
    for (const [connection, { count, ...place }] of this.#leftOut) {
      const message = `${count} messages, commands and errors are left out: those that the same bytes of the file complete take more than ${pending.maxBytes} bytes`
      const error = { code: "ERR_CAPTURE_UNREADABLE", message, ...place } as const
      this.#emit({ type: "error", connection, error })
    }
    this.#leftOut.clear()
    pending.renew()
    const events = this.#events
    this.#events = []
    return events
  }
}

/** @throws TypeError if this is no KeyLog. */
function checkKeys(keys: unknown): KeyLog {
  if (keys instanceof KeyLog) return keys
  throw wrongType(`keys must be a KeyLog; got ${shown(keys)}`)
}

function dictionarySource(option: Uint8Array | DictionarySource): DictionarySource {
  if (typeof option === "function")
    return (connection, from) => {
      const given = option(connection, from)
      return given === undefined ? undefined : checkDictionary(given)
    }
  const dictionary = checkDictionary(option)
  return () => dictionary
}

/** Messages, commands and errors that were left out, and the place of the first. */
interface LeftOut {
  count: number
  from: Side | undefined
  time: Time
  offset: number
}
