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
 * The files whose tests depend most on the version of Node: its sockets, its threads, and the end of its
 * processes. The gate runs only these in the version between the oldest and the newest that it tests.
 */
export const mostDependentOnNode = [
  "collection",
  "context",
  "endpoints",
  "exit",
  "permissions",
  "reconnect",
  "sockets",
  "thread",
  "thread-life",
  "unwritten",
]

/**
 * Other files that the gate does not run on Windows. Most of their tests are about the engine of JavaScript,
 * which is the same on every system.
 */
export const sameOnSystems = [
  "arguments",
  "changing-arrays",
  "collection",
  "diagnostics",
  "fake-timers",
  "mistakes",
  // Queues, routing and timers.
  "options",
  // None of the tests can run there: see windows/left-out.mjs.
  "pending-attempts",
  "polluted-prototype",
  "received-memory",
  "reload",
  // What threads post to each other. thread-life starts and ends them there.
  "thread",
  // As with pending-attempts.
  "thread-blocked",
]
