/** The tests under pressure, for as long and with what luck one likes. */
import { spawnSync } from "node:child_process"
import { join } from "node:path"
import { readArgs } from "./lib/args.mjs"
import { root } from "./lib/paths.mjs"
import { fail } from "./lib/run.mjs"

const usage = `usage: npm run test:pressure -- [--seconds N] [--all] [--seed S]

Runs test/pressure/ once, with combinations in which any two values meet.
  --seconds N   goes on for that long with other combinations
  --all         has any three values meet, and everything in its long form
  --seed S      draws what the run that told this seed has drawn`

const {
  seconds = "0",
  all,
  seed,
} = readArgs(usage, {
  seconds: { type: "string" },
  all: { type: "boolean" },
  seed: { type: "string" },
})
if (!/^\d+$/.test(seconds)) fail(`--seconds ${seconds}: a whole number\n\n${usage}`)

const { status } = spawnSync(
  process.execPath,
  [join(root, "node_modules/vitest/vitest.mjs"), "run", "--project", "pressure*"],
  {
    cwd: root,
    stdio: "inherit",
    env: {
      ...process.env,
      PRESSURE_SECONDS: seconds,
      PRESSURE_ALL: all ? "1" : "0",
      ...(seed === undefined ? {} : { PRESSURE_SEED: seed }),
    },
  },
)
process.exitCode = status ?? 1
