/**
 * The files of test/sockets whose tests are about bytes and messages, and not about processes or
 * anything else in which systems and versions of Node differ. The gate runs them here only.
 */
export const sameEverywhere = [
  "adaptive-level",
  "arenas",
  "backpressure",
  "bad-reply",
  "bridge",
  "bridge-curve",
  "budget",
  "conflate",
  "curve-attacks",
  "dictionaries",
  "flush",
  "handover",
  "heartbeat-pings",
  "hostile",
  "large",
  "large-beside-small",
  "many",
  "omq-lz4",
  "own-dictionaries",
  "pairs",
  "part-limit",
  "parts",
  "plain-peers",
  "proxy",
  "races",
  "rfc",
  "routing-ids",
  "stats",
  "thread-marks",
  "topics",
  "v5-compat",
  "xpub",
  "zap",
]

/**
 * Other files whose tests do the same with threads as without, as far as versions of Node differ. The
 * gate runs them in other versions without threads only.
 */
export const sameOnThreads = [
  "arguments",
  "diagnostics",
  // exit-sent and thread-life end processes with threads there.
  "exit",
  "fake-timers",
  "faults",
  "mistakes",
  "mixed",
  "options",
  "pending-attempts",
  "reload",
]

/**
 * Other files whose tests are about the engine of JavaScript, which is the same on every system. The
 * gate does not run them on Windows.
 */
export const sameOnSystems = [
  "arguments",
  "changing-arrays",
  "collection",
  "diagnostics",
  "fake-timers",
  "mistakes",
  "polluted-prototype",
  "received-memory",
  "reload",
]
