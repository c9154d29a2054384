/** Whether all that is public has TSDoc, and all types that can be reached have a name to import. */
import { readArgs } from "./lib/args.mjs"
import { declarationFaults } from "./lib/declarations.mjs"
import { fail, run, tool } from "./lib/run.mjs"

readArgs(
  `usage: node scripts/check-declarations.mjs

Fails when an export, or a member of one, has no TSDoc, or when a type that exports refer to is not
exported itself.`,
  {},
)

run(tool("tsc"), ["-p", "tsconfig.build.json"])
const faults = declarationFaults()
if (faults.length > 0) fail(faults.join("\n"))
console.log("all that is public has TSDoc")
