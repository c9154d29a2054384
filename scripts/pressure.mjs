/** Runs the pressure tests for a given time, or with a given seed. */
import { spawnSync } from "node:child_process"
import { join } from "node:path"
import { readArgs } from "./lib/args.mjs"
import { root } from "./lib/paths.mjs"
import { fail } from "./lib/run.mjs"

const usage = `usage: npm run test:pressure -- [--seconds N] [--all] [--seed S]

Runs test/pressure/ once, with combinations of options that include all pairs of values (in the gate,
four fifths of them).
  --seconds N   continue with other combinations for N seconds
  --all         include all triples of values, and run the long form of all tests
  --seed S      repeat the run that printed this seed`

const {
  seconds = "0",
  all,
  seed,
} = readArgs(usage, {
  seconds: { type: "string" },
  all: { type: "boolean" },
  seed: { type: "string" },
})
if (!/^\d+$/.test(seconds)) fail(`--seconds ${seconds}: must be a whole number\n\n${usage}`)

const { status } = spawnSync(
  process.execPath,
  [join(root, "node_modules/vitest/vitest.mjs"), "run", "--project", "pressure"],
  {
    cwd: root,
    stdio: "inherit",
    env: {
      ...process.env,
      PRESSURE_SECONDS: seconds,
      PRESSURE_EXTENT: all ? "triples" : "pairs",
      ...(seed === undefined ? {} : { SEED: seed }),
    },
  },
)
process.exitCode = status ?? 1
