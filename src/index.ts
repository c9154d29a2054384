/**
 * Everything that zeromq exports, with sockets that also speak `lz4+tcp://` and `zstd+tcp://`, and what
 * goes with them.
 */
export * from "./exports.js"
/** All of these in one object, as `require()` returns it. */
export * as default from "./exports.js"
// Are The Types Wrong needs a name besides `default`: it does not follow `export *`.
export { ProtocolError } from "./exports.js"
