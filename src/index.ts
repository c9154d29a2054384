/** Everything that zeromq exports, with sockets that also speak `lz4+tcp://`. */
export * from "./exports.js"
export * as default from "./exports.js"
// Are The Types Wrong needs a name besides `default`: it does not follow `export *`.
export { ProtocolError } from "./exports.js"
