export { Codec, type Traffic } from "./codec.js"
export { ProtocolError, type ProtocolErrorCode } from "./errors.js"
export type { WasmSource } from "./module.js"
export type { CodecOptions, Lz4Options } from "./options.js"
