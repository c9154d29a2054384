import { readFileSync } from "node:fs"
import { availableParallelism } from "node:os"
import { defineConfig } from "vitest/config"
import { curveWasm } from "./scripts/lib/curve-wasm.mjs"
import { entries } from "./scripts/lib/entries.mjs"
import { threadWorkerCode } from "./scripts/lib/thread-worker.mjs"
import {
  lessDependentOnNode,
  mostDependentOnNode,
  sameEverywhere,
  sameOnThreads,
} from "./test/platforms/same-everywhere.mjs"

// Tests import the package by its name and get what ships, loaded by Node itself: one instance,
// whether they import it or a program that they start does.
const shared = {
  resolve: {
    alias: entries.map(({ name, module }) => ({
      find: new RegExp(`^${name}$`),
      replacement: new URL(`./dist/${module}.mjs`, import.meta.url).pathname,
    })),
  },
}

// Unit tests may also import what the package keeps to itself, from src/. As in the build, the
// import of a .wasm file gives its bytes, "thread-worker" a script, and "curve-wasm" base64.
const asInTheBuild = {
  name: "as-in-the-build",
  enforce: "pre" as const,
  resolveId: (id: string) => (["thread-worker", "curve-wasm"].includes(id) ? id : undefined),
  load: async (id: string) => {
    if (id === "thread-worker") return `export default ${JSON.stringify(await threadWorkerCode())}`
    if (id === "curve-wasm") return `export default "${curveWasm()}"`
    if (!id.endsWith(".wasm")) return undefined
    return `export default new Uint8Array(Buffer.from("${readFileSync(id, "base64")}", "base64"))`
  },
}

// Unit tests replace the clock of what they test, and say when the event loop polls.
const standIns: Readonly<Record<string, string>> = {
  "/src/base/runtime.ts": "fakeable-runtime",
  "/src/transport/last-poll.ts": "polled",
}

const fakeable = {
  name: "fakeable",
  enforce: "pre" as const,
  load: (id: string) => {
    const replaced = Object.keys(standIns).find((path) => id.endsWith(path))
    if (replaced === undefined) return undefined
    const standIn = new URL(`./test/support/${standIns[replaced]}.ts`, import.meta.url)
    return readFileSync(standIn, "utf8")
  },
}

const project = (name: string, options: object = {}) => ({
  ...shared,
  plugins: name === "unit" ? [asInTheBuild, fakeable] : [asInTheBuild],
  test: {
    name,
    include: [`test/${name}/**/*.test.ts`],
    server: { deps: { external: [/\/dist\//] } },
    setupFiles: ["test/support/fixed-seed.ts"],
    // Time limits only end what hangs: on a busy machine everything takes many times as long.
    testTimeout: 300_000,
    hookTimeout: 300_000,
    expect: { poll: { timeout: 200_000 } },
    ...options,
  },
})

/** What the tests of sockets are run with once more. */
const waysToSend = {
  autoDictionary: { autoDictionary: { trigger: 3 } },
  arenas: { arenas: true },
  level: { level: 9 },
}
/** The tests in which messages go through unchanged, whatever the options that they give to their endpoints. */
const MESSAGES = ["pairs", "topics", "options", "sockets"]

/**
 * Scenarios run one after the other in each process, and not each file in its own: they close all that they open, and
 * keep nothing but names that are used once.
 */
const inOneProcess = { isolate: false }

const long = { testTimeout: 1_200_000 }

/** The files of test/sockets that say themselves which connections are on threads, and test both. */
const WITH_BOTH = [
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

/** The tests that are run once more with connections on threads. */
const onThreads = {
  // The bridge has no endpoints of sockets.
  sockets: { include: ["**/*"], exclude: ["bridge", "bridge-curve", ...WITH_BOTH] },
  differential: { include: ["**/*"], exclude: [], ...inOneProcess },
  interop: { include: ["pyomq", "rust"], exclude: [], fileParallelism: false },
}

const socketTests = (files: readonly string[]) =>
  files.map((file) => `test/sockets/${file}.test.ts`)

const scenarios = (...files: string[]) =>
  files.map((file) => `test/differential/scenarios/${file}.test.ts`)

/** Whether all scenarios run with plain peers and with CURVE, as in `npm run test:differential`. */
const all = Boolean(process.env.DIFFERENTIAL_ALL)
/**
 * The scenarios that the gate runs with CURVE: about what is in boxes there, which are frames, commands and
 * properties of peers, and about connections that begin and end. The others are about addresses, arguments
 * and options, and about what sockets do with messages that are decrypted. Each runs with one of the sides as
 * the server.
 */
const WITH_CURVE = {
  binds: ["drafts", "lifecycle", "messages", "router"],
  connects: ["events", "high-water-marks", "pairs", "pub-sub"],
}

const waiting = ["large-messages", "stuck-processes"].map((file) => `test/quiet/${file}.test.ts`)

export default defineConfig({
  test: {
    // Tests wait most of the time.
    maxWorkers: 3 * availableParallelism(),
    projects: [
      project("unit"),
      project("sockets"),
      // Other versions of Node. libzmq is the same binary in all of them.
      ...Object.entries({ platform: ["**/*"], between: mostDependentOnNode }).flatMap(
        ([name, files]) => [
          project(`sockets-${name}`, {
            include: socketTests(files),
            exclude: socketTests([...sameEverywhere, ...lessDependentOnNode]),
            env: { WITHOUT_REFERENCE: "1" },
          }),
          project(`sockets-${name}-thread`, {
            include: socketTests(files),
            exclude: socketTests([
              ...sameEverywhere,
              ...lessDependentOnNode,
              ...sameOnThreads,
              ...onThreads.sockets.exclude,
            ]),
            env: { ZEROMQ_LZ4_THREAD: "1" },
          }),
        ],
      ),
      ...Object.entries(waysToSend).map(([name, options]) =>
        project(`sockets-with-${name}`, {
          include: MESSAGES.map((file) => `test/sockets/${file}.test.ts`),
          env: { LZ4_OPTIONS: JSON.stringify(options) },
        }),
      ),
      project("simulation"),
      project("differential", inOneProcess),
      // Sockets that accept plain peers, and meet such, are to do as tcp:// does as well. In the gate without
      // raw-curve, whose handshakes are the same whether plain peers are accepted.
      ...["binds", "connects"].map((side) =>
        project(`differential-plain-${side}`, {
          include: scenarios("*"),
          exclude: all ? [] : scenarios("raw-curve"),
          env: { DIFFERENTIAL_PLAIN: side },
          ...inOneProcess,
        }),
      ),
      // With CURVE as without, whichever side is the server. Of raw peers, only those of raw-curve speak it.
      ...(["binds", "connects"] as const).map((server) =>
        project(`differential-curve-${server}`, {
          include: scenarios(...(all ? ["*"] : WITH_CURVE[server])),
          exclude: scenarios("curve", "raw-curve", "raw-peers", "raw-plain", "security"),
          env: { DIFFERENTIAL_CURVE: server },
          ...inOneProcess,
        }),
      ),
      // What holds on the calling thread holds on another.
      ...Object.entries(onThreads).map(([name, { include, exclude, ...options }]) =>
        project(`${name}-thread`, {
          include: include.map((file) => `test/${name}/${file}.test.ts`),
          exclude: exclude.map((file) => `test/${name}/${file}.test.ts`),
          env: { ZEROMQ_LZ4_THREAD: "1" },
          ...options,
        }),
      ),
      // The suites below need more than `npm test` may ask for: Chromium, other Node
      // versions, Python. They build and install things, so their files run one by one.
      project("browser", { fileParallelism: false }),
      project("package", { fileParallelism: false }),
      // Not in the gate: installs with four package managers, and whatever else is rare.
      project("loaders", { fileParallelism: false }),
      project("platforms", {
        exclude: ["test/platforms/exchange.test.ts"],
        fileParallelism: false,
      }),
      // In Wine, which needs a quiet machine.
      project("platforms-exchange", { include: ["test/platforms/exchange.test.ts"] }),
      project("soak", { ...long, fileParallelism: false }),
      project("pressure", { ...long, fileParallelism: false }),
      // What depends on the machine: time, memory, limits of the system. Each file runs alone, except those
      // that measure the memory of processes which mostly wait.
      project("quiet", { ...long, exclude: waiting, fileParallelism: false }),
      project("quiet-waiting", { ...long, include: waiting, fileParallelism: false }),
      project("interop", { fileParallelism: false }),
    ],
  },
})
