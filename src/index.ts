/** Everything zeromq exports, with sockets that also speak `lz4+tcp://`. */
export * from "./exports.js"
export * as default from "./exports.js"
