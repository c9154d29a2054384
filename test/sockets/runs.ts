/** The ways in which files of this folder run once more, each a project of vitest. */
import {
  lessDependentOnNode,
  mostDependentOnNode,
  sameEverywhere,
  sameOnThreads,
} from "../platforms/same-everywhere.mjs"

const filesOf = (...names: string[]) => names.map((name) => `test/sockets/${name}.test.ts`)

/** Files whose tests say themselves which connections are on threads, and test both. */
const withBoth = [
  "bad-reply",
  "conflate",
  "curve-attacks",
  "exit-sent",
  "handover",
  "heartbeat-pings",
  "old-news",
  "own-dictionaries",
  "part-limit",
  "parts",
  "plain-peers",
  "rfc",
  "routing-ids",
  "thread*",
  "unwritten",
  "xpub",
]
/** The bridge has no endpoints of sockets. */
const withoutThreads = ["bridge", "bridge-curve", ...withBoth]

/** Another version of Node has the same libzmq. */
const otherNode = { env: { WITHOUT_REFERENCE: "1" } }
const threads = { env: { ZEROMQ_LZ4_THREAD: "1" } }
const dependent = filesOf(...mostDependentOnNode)
const independent = filesOf(...sameEverywhere, ...lessDependentOnNode)
const independentOnThreads = [...independent, ...filesOf(...sameOnThreads, ...withoutThreads)]

/** A project in which messages go through unchanged, whatever the options that tests give to their endpoints. */
const withOptions = (options: object) => ({
  include: filesOf("pairs", "topics", "options", "sockets"),
  env: { LZ4_OPTIONS: JSON.stringify(options) },
})

/** Files whose messages go over zstd+tcp:// in the place of lz4+tcp://. zstd.test.ts has what only it does. */
const zstd = {
  include: filesOf("pairs", "topics", "options", "sockets", "mixed", "faults", "large"),
  env: { ZSTD_IN_PLACE_OF_LZ4: "1" },
}

export const socketRuns: Record<string, object> = {
  "sockets-thread": { include: filesOf("*"), exclude: filesOf(...withoutThreads), ...threads },
  "sockets-with-autoDictionary": withOptions({ autoDictionary: { trigger: 3 } }),
  "sockets-with-arenas": withOptions({ arenas: true }),
  "sockets-with-level": withOptions({ level: 9 }),
  "sockets-with-zstd": zstd,
  "sockets-platform": { include: filesOf("*"), exclude: independent, ...otherNode },
  "sockets-platform-thread": { include: filesOf("*"), exclude: independentOnThreads, ...threads },
  "sockets-between": { include: dependent, exclude: independent, ...otherNode },
  "sockets-between-thread": { include: dependent, exclude: independentOnThreads, ...threads },
}
