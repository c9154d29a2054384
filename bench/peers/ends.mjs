/** The contestants, by their names in the results. */

/** @typedef {import("./peers.mjs").End} End */

export const TCP = "zeromq.js tcp://"
export const IPC = "zeromq.js ipc://"
export const OURS = "zeromq-lz4"
export const ACCEPTING_PLAIN = "zeromq-lz4, peers of tcp://"
export const ON_THREADS = "zeromq-lz4, thread: true"
export const ONE_THREAD = "one thread"
export const TWO_THREADS = "two threads"
export const NOT_ENCRYPTED = "zeromq-lz4, without CURVE"
export const NOTHING_COMPRESSED = "zeromq-lz4, nothing compressed"
/** Minimum size in bytes of a part that is compressed. */
export const LEAST_COMPRESSED = 512
export const PYOMQ_TCP = "pyomq tcp://"
export const PYOMQ = "pyomq lz4+tcp://"
export const OMQ_TOKIO = "omq-tokio lz4+tcp://"
export const ZSTD = "zeromq-lz4 zstd+tcp://"
export const ZSTD_ON_THREADS = "zeromq-lz4 zstd+tcp://, thread: true"
export const PYOMQ_ZSTD = "pyomq zstd+tcp://"
export const PYOMQ_ZSTD_1 = "pyomq zstd+tcp://, level 1"

/** @param {object} [lz4] @returns {End} */
export const ours = (lz4) => ({ module: "zeromq-lz4", scheme: "lz4+tcp://", lz4 })

/** @param {object} [lz4] @returns {End} */
export const oursInZstd = (lz4) => ({ module: "zeromq-lz4", scheme: "zstd+tcp://", lz4 })

/** @type {Record<string, End>} */
export const ends = {
  [TCP]: { module: "zeromq", scheme: "tcp://" },
  [IPC]: { module: "zeromq", scheme: "ipc://" },
  [OURS]: ours(),
  [ON_THREADS]: ours({ thread: true }),
  [NOTHING_COMPRESSED]: ours({ minCompressSize: 2 ** 30 }),
  [PYOMQ_TCP]: { module: "pyomq", scheme: "tcp://" },
  [PYOMQ]: { module: "pyomq", scheme: "lz4+tcp://" },
  [OMQ_TOKIO]: { module: "omq-tokio", scheme: "lz4+tcp://" },
  [ZSTD]: oursInZstd(),
  [ZSTD_ON_THREADS]: oursInZstd({ thread: true }),
  [PYOMQ_ZSTD]: { module: "pyomq", scheme: "zstd+tcp://" },
  [PYOMQ_ZSTD_1]: {
    module: "pyomq",
    scheme: "zstd+tcp://",
    options: { compression_level: 1 },
  },
}

/**
 * Fixed options in place of the default, without a dictionary.
 * @type {Record<string, import("zeromq-lz4").EndpointOptions>}
 */
export const FIXED = Object.fromEntries(
  /** @type {const} */ (["none", 0, 3, 9]).flatMap((level) => [
    [`${OURS}, level ${level}`, { level }],
    [`${OURS}, level ${level}, no arenas`, { level, arenas: false }],
  ]),
)
/**
 * Fixed levels of zstd+tcp:// in place of the default.
 * @type {Record<string, import("zeromq-lz4").EndpointOptions>}
 */
export const FIXED_ZSTD = Object.fromEntries(
  /** @type {const} */ (["none", -5, -1, 1, 3]).map((level) => [
    `${ZSTD}, level ${level}`,
    { level },
  ]),
)
/** Maximum size in bytes of a message in an arena. */
export const ARENA_MAX = 8192
