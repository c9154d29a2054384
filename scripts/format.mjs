/** Formats everything: TypeScript, JavaScript and JSON with Biome, C with clang-format. */
import { readArgs } from "./lib/args.mjs"
import { onPath } from "./lib/files.mjs"
import { fail, run, tool } from "./lib/run.mjs"
import { formattedSources } from "./lib/sources.mjs"

readArgs(
  "usage: npm run format\n\nRewrites files to the project's format, and makes Biome's safe fixes.",
  {},
)
if (!onPath("clang-format")) fail("clang-format is not on PATH: apt-get install clang-format")

run(tool("biome"), ["check", "--write", "."])
run("clang-format", ["-i", ...formattedSources()])
