import { availableParallelism } from "node:os"
import { defineConfig } from "vitest/config"
import { entries } from "./scripts/lib/entries.mjs"
import { differentialRuns } from "./test/differential/runs.js"
import { socketRuns } from "./test/sockets/runs.js"
import { asInTheBuild, fakeable } from "./test/support/as-in-the-build.js"

// These files build, install or measure: they run one at a time.
const oneByOne = { fileParallelism: false }
const long = { ...oneByOne, testTimeout: 1_200_000 }
/** Files of `quiet` that measure the memory of processes which mostly wait. */
const waiting = ["large-messages", "stuck-processes"].map((file) => `test/quiet/${file}.test.ts`)
const exchange = ["test/platforms/exchange.test.ts"]

/** The projects, and how each differs from the files of test/NAME. scripts/README.md describes them. */
const projects: Record<string, object> = {
  unit: {},
  sockets: {},
  ...socketRuns,
  ...differentialRuns,
  simulation: {},
  pressure: long,
  soak: long,
  quiet: { ...long, exclude: waiting },
  "quiet-waiting": { ...long, include: waiting },
  browser: oneByOne,
  package: oneByOne,
  examples: oneByOne,
  loaders: oneByOne,
  platforms: { ...oneByOne, exclude: exchange },
  "platforms-exchange": { include: exchange },
  interop: oneByOne,
  "interop-thread": {
    ...oneByOne,
    include: ["pyomq", "rust", "zstd"].map((file) => `test/interop/${file}.test.ts`),
    env: { ZEROMQ_LZ4_THREAD: "1" },
  },
}

const project = ([name, options]: [string, object]) => ({
  // Tests import the package by its name and get what ships, loaded by Node itself: one instance,
  // whether they import it or a program that they start does.
  resolve: {
    alias: entries.map(({ name, module }) => ({
      find: new RegExp(`^${name}$`),
      replacement: new URL(`./dist/${module}.mjs`, import.meta.url).pathname,
    })),
  },
  // Unit tests may also import what the package keeps to itself, from src/.
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

// Tests wait most of the time.
const maxWorkers = 3 * availableParallelism()

export default defineConfig({
  test: { maxWorkers, projects: Object.entries(projects).map(project) },
})
