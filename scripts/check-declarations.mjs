/** Checks that all exports have TSDoc, and that all types they refer to are exported too. */
import { readArgs } from "./lib/args.mjs"
import { declarationFaults } from "./lib/declarations.mjs"
import { fail, run, tool } from "./lib/run.mjs"

readArgs(
  `usage: node scripts/check-declarations.mjs

Fails if an export or one of its members has no TSDoc, or if an export refers to a type that is not
exported.`,
  {},
)

run(tool("tsc"), ["-p", "tsconfig.build.json"])
const faults = declarationFaults()
if (faults.length > 0) fail(faults.join("\n"))
console.log("all exports have TSDoc")
