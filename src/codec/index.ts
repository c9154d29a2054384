/**
 * The wire format without sockets, for Node and browsers: docs/codec.md.
 *
 * @packageDocumentation
 */

export { Codec } from "./codec.js"
export { ProtocolError, type ProtocolErrorCode } from "./errors.js"
export type { FormatName } from "./format.js"
export type { WasmSource } from "./module.js"
export type { CodecOptions, Level, Lz4Level, Lz4Options, ZstdLevel } from "./options.js"
export type { Traffic } from "./traffic.js"
export { trainDictionary } from "./trainer.js"
