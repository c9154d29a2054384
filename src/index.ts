/** Everything zeromq exports, with sockets that also speak `lz4+tcp://`. */
export * from "./exports.js"
export * as default from "./exports.js"
// A name besides `default` that Are The Types Wrong sees: it does not follow `export *`.
export { ProtocolError } from "./exports.js"
