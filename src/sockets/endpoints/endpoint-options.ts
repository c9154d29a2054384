import { shown, wrongValue } from "../../codec/errors.js"
import { integer } from "../../codec/integer.js"
import { boolean, LZ4_NAMES, type Lz4Options } from "../../codec/options.js"

/** Options of one `lz4+tcp://` or `zstd+tcp://` endpoint. */
export interface EndpointOptions extends Lz4Options {
  /**
   * Whether the endpoint's connections and their compression run on a worker thread, so that they
   * continue while the event loop is busy. Default: false, or true if the environment has
   * ZEROMQ_LZ4_THREAD=1 (0 is false; anything else is an error). A context has up to `ioThreads`
   * such threads.
   */
  thread?: boolean
  /**
   * Maximum plaintext of queued received messages, in bytes, for each connection. A connection at
   * the limit is not read, as one at `receiveHighWaterMark`; one message is always accepted, however
   * large. 0: no limit. Default: 64 MiB; 0 if `receiveHighWaterMark` is 0.
   */
  receiveHighWaterBytes?: number
  /**
   * Whether peers may also speak plain `tcp://`. A peer that announces this format in its handshake
   * gets it; any other peer is served as `tcp://` would serve it, in both directions. Other
   * implementations of the format announce nothing, so they cannot be told from plain peers.
   * Default: false. RFC.md section 3.9.
   */
  acceptPlain?: boolean
  /**
   * Whether `socket.lz4.compressedOf(part)` knows what received parts were on the wire, for programs
   * that send or store them as they came. Each compressed part is decoded twice, and kept twice as long
   * as the program keeps its plaintext. Default: false.
   */
  keepCompressed?: boolean
}

/** Endpoint options that are not the codec's, which codec/options.ts checks. */
export const OWN_OPTIONS: readonly string[] = [
  "thread",
  "receiveHighWaterBytes",
  "acceptPlain",
  "keepCompressed",
]
export const ENDPOINT_OPTIONS: readonly string[] = [...LZ4_NAMES, ...OWN_OPTIONS]

const RECEIVE_HIGH_WATER_BYTES = 64 << 20

/** @throws TypeError with code ERR_INVALID_ARG_TYPE or ERR_INVALID_ARG_VALUE. */
export function readThread({ thread = defaultThread() }: EndpointOptions): boolean {
  return boolean("thread", thread)
}

function defaultThread(): boolean {
  const { ZEROMQ_LZ4_THREAD: value = "" } = process.env
  if (value !== "" && value !== "0" && value !== "1")
    throw wrongValue(`ZEROMQ_LZ4_THREAD in the environment must be 1 or 0; got ${shown(value)}`)
  return value === "1"
}

/** @throws TypeError or RangeError. */
export function readHighWaterBytes(options: EndpointOptions, receiveHighWaterMark: number): number {
  const defaultBytes = receiveHighWaterMark > 0 ? RECEIVE_HIGH_WATER_BYTES : 0
  return integer("receiveHighWaterBytes", options.receiveHighWaterBytes, defaultBytes, 0)
}
