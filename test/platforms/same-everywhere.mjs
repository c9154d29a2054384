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
  "exit-sent": [false, true].flatMap((thread) =>
    [
      "messages of 100000 bytes > arrive at a subscriber when its publisher calls process.exit()",
      "messages of 100000 bytes > arrive at a ROUTER that has the sender's routing id",
      "replies of a ROUTER to all its peers arrive",
      "the request of a REQ arrives",
      "messages of a connecting PUB arrive",
      ...["level: 9", "arenas: true", "autoDictionary: { trigger: 3 }", "dictionary: 'x'"].map(
        (option) => `messages sent with { ${option} } arrive`,
      ),
      "messages of a PLAIN client arrive",
      "with linger 0 nothing is sent when a process 'throws'",
      "a process does not wait for an absent peer, with linger 30000",
      "a process does not wait for a peer that does not read, with linger 30000",
    ].map((test) => `with { thread: ${thread} } > ${test}`),
  ),
  faults: ["over 'lz4+tcp:// with a dictionary' > *"],
  mixed: ["an XPUB on two transports > *", "XPUB with noDrop on two transports > *"],
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
