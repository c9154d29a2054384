/**
 * Recorded traffic, for Node and browsers: captures of tcpdump and Wireshark are read, filtered and
 * summed up. docs/capture.md.
 *
 * @packageDocumentation
 */

// For projects whose libraries do not have Symbol.dispose yet.
/// <reference lib="esnext.disposable" preserve="true" />

export type { ProtocolErrorCode } from "../codec/errors.js"
export type { WasmSource } from "../codec/module.js"
export type { Traffic } from "../codec/traffic.js"
export { type Capture, type CapturedConnection, decodeCapture } from "./decode-capture.js"
export { type DecodeFramesOptions, decodeFrames } from "./decode-frames.js"
export { CaptureFormatError } from "./errors.js"
export type * from "./events.js"
export type { NotJoined } from "./exchanges/conversation.js"
export type { DurationSummary } from "./exchanges/durations.js"
export type { Exchange, ExchangedMessage } from "./exchanges/exchange.js"
export { type ExchangeSummary, Exchanges } from "./exchanges/exchanges.js"
export type { ExchangeGroup } from "./exchanges/group.js"
export { type CaptureFilter, captureFilter } from "./filter/capture-filter.js"
export type { FilterOptions } from "./filter/filter.js"
export { KeyLog } from "./key-log.js"
export { placeOf } from "./packets/file-place.js"
export { type CaptureSource, type ReadCaptureOptions, readCapture } from "./read-capture.js"
export { CaptureReader } from "./reader.js"
export type { PeriodTraffic } from "./statistics/seconds.js"
export {
  type NamedTraffic,
  type SizeTraffic,
  Statistics,
  type StatisticsSummary,
} from "./statistics/statistics.js"
export type { DecodedMessage, TransportName } from "./streams/messages.js"
