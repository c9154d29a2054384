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
  // thread-life ends processes with threads there.
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
 * Other files that the gate does not run in the newest version of Node: what they test of Node itself, its
 * sockets and the end of its processes, the files of `mostDependentOnNode` and `exit` test as well.
 */
export const lessDependentOnNode = [
  "arguments",
  "changing-arrays",
  "curve",
  "diagnostics",
  "exit-sent",
  "faults",
  "mistakes",
  "mixed",
  "polluted-prototype",
]

/**
 * The files whose tests depend most on the version of Node: its sockets, and its threads. The gate runs only
 * these in the version between the oldest and the newest that it tests.
 */
export const mostDependentOnNode = [
  "collection",
  "context",
  "endpoints",
  "permissions",
  "reconnect",
  "sockets",
  "thread-life",
  "unwritten",
]

/**
 * Other files that the gate does not run on Windows. Most of their tests are about the engine of JavaScript,
 * which is the same on every system.
 */
export const sameOnSystems = [
  "arguments",
  "blocked",
  "changing-arrays",
  "collection",
  "diagnostics",
  // exit ends processes there, with fewer kinds of sockets.
  "exit-sent",
  "fake-timers",
  "faults",
  "mistakes",
  "mixed",
  // Ends processes while others are blocked. That messages go to the next connection, unwritten tests there.
  "old-news",
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

/**
 * The tests of other files that the gate does not run on Windows, by file and name; a name that ends with " > *" is
 * that of a group. What they do about a process that ends, or a connection that is lost, they do in JavaScript, and
 * others of the same file show that the system does its part. A process in Wine takes half a second.
 * @type {Record<string, string[]>}
 */
export const sameTestsOnSystems = {
  curve: [
    "over 'tcp://' > *",
    "over 'a libzmq client' > *",
    "over 'a libzmq server' > *",
    "over 'a libzmq client, with threads' > *",
  ],
  exit: [
    ...[
      "sends in a handler of beforeExit",
      "sends from two sockets and drops them",
      "does not wait for send() and ends",
      "has messages that wait for their turn…",
      "sends in a function, and nobody refer…",
      "removed all listeners of its end, the…",
    ].map((what) => `over 'lz4+tcp://' > a process delivers everything when it > '${what}'`),
    ...[
      "has sent and rejects",
      "has sent and ends with linger 500",
      "has sent and closes with linger 0",
      "waits for room and calls process.exit…",
      "has sent and calls process.exit() in …",
    ].map((what) => `over 'lz4+tcp://' > a process without peers ends when it > '${what}'`),
    ...[
      "bound and connected",
      "subscribed",
      "closed",
      "disconnected",
      "connected to each other",
    ].map((what) => `over 'lz4+tcp://' > a process ends when its sockets are > '${what}'`),
    "over 'lz4+tcp://' > the last reply of a REP that ends arrives",
    ...[
      "throws",
      "closes its socket and goes on",
      "disconnects and goes on",
      "is left with no room and goes on",
    ].map((how) => `a process whose messages wait after a flush delivers them when it ${how}`),
    "terminating a worker thread that is idle affects nothing else",
    "a worker that is terminated right after it has sent > has sent everything over tcp://",
    ...[
      "'one message', 'push.close()'",
      "'one message', 'push.disconnect(endpoint)'",
      "'more than the system takes', 'push.disconnect(endpoint)'",
    ].flatMap((how) =>
      [false, true].map(
        (thread) =>
          `with linger 0, a process does not wait for a peer that keeps its side open: ${how}, thread ${thread}`,
      ),
    ),
  ],
  "thread-life": [
    "threads > a context with 3 ioThreads has 2 for 2 endpoints",
    "threads > a context with 3 ioThreads has 3 for 7 endpoints",
    "threads > a context with +0 ioThreads has 1 for 2 endpoints",
    "threads > are separate for each context",
    "a process with endpoints on a thread > delivers when it sends, closes and ends",
    "a process with endpoints on a thread > delivers when it sends, disconnects and ends",
    "a process with endpoints on a thread > is not kept alive by an idle socket: bound with bindSync()",
    "a process with endpoints on a thread > ends at once with process.exit() while it is sending",
  ],
}
