/** What bench/transport.mjs compares. */

export const TCP = "tcp"
export const OURS = "lz4+tcp"
export const SAME_THREAD = "lz4+tcp, same thread"

/**
 * The scheme, where the sockets come from, and options of bind() and connect().
 * @type {Record<string, { scheme: string, module: string, options?: object }>}
 */
export const transports = {
  [TCP]: { scheme: "tcp://", module: "zeromq" },
  [OURS]: { scheme: "lz4+tcp://", module: "zeromq-lz4" },
  [SAME_THREAD]: { scheme: "lz4+tcp://", module: "zeromq-lz4", options: { thread: false } },
}
