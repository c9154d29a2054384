/** Runs all checks that do not execute the package, or formats everything as they want it. */
import { execFileSync } from "node:child_process"
import { mkdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { API_DOCUMENT, apiDocument } from "./lib/api-document.mjs"
import { readArgs } from "./lib/args.mjs"
import { COMMENT_MAX_COLUMNS, commentFaults } from "./lib/comments.mjs"
import { declarationFaults } from "./lib/declarations.mjs"
import { exportedFiles } from "./lib/entries.mjs"
import { onPath } from "./lib/files.mjs"
import * as paths from "./lib/paths.mjs"
import { fail, run, tool, tryRun } from "./lib/run.mjs"
import { bundledCodec } from "./lib/size.mjs"
import { formattedSources } from "./lib/sources.mjs"
import { isStale } from "./lib/stale.mjs"
import { finish, tellFailure } from "./lib/tally.mjs"

// docs/codec.md lists the parts that take these bytes.
const MAX_BYTES = 104_600
const MAX_GZIP_BYTES = 43_600

/** @type {string | undefined} */
let tarball

/** The checks, each of which prints what it finds and returns whether it passed. */
const checks = {
  biome: () => tryRun(tool("biome"), ["check", "--error-on-warnings", "."]),
  comments: checkComments,
  "clang-format": () => tryRun("clang-format", ["--dry-run", "-Werror", ...formattedSources()]),
  types: () => tryRun(tool("tsc"), []),
  declarations: checkDeclarations,
  api: checkApi,
  publint: () => tryRun(tool("publint"), ["run", packed(), "--strict"]),
  "types-of-tarball": () =>
    tryRun(tool("attw"), [packed(), "--exclude-entrypoints", ...exportedFiles]),
  size: checkSize,
}

const { only, format } = readArgs(
  `usage: npm run check -- [--only CHECK]
       npm run format

Checks format, lint, the width of comments, types, TSDoc, docs/api.md, the packed package (publint, Are The
Types Wrong) and the codec's size.
  --only CHECK   one of ${Object.keys(checks).join(", ")}
  --format       what npm run format does: rewrites files to the project's format, and makes Biome's
                 safe fixes`,
  { only: { type: "string" }, format: { type: "boolean" } },
)
const needsClangFormat = only === undefined || only === "clang-format"
if (needsClangFormat && !onPath("clang-format"))
  fail("clang-format is not on PATH: apt-get install clang-format")
if (only !== undefined && !Object.hasOwn(checks, only)) fail(`no such check: ${only}`)

if (format) {
  run(tool("biome"), ["check", "--write", "."])
  run("clang-format", ["-i", ...formattedSources()])
} else {
  const counts = { passed: 0, failed: 0, skipped: 0 }
  for (const [name, check] of Object.entries(checks)) {
    if (only !== undefined && name !== only) continue
    const passed = await check()
    counts[passed ? "passed" : "failed"]++
    console.log(`${passed ? "ok" : "not ok"} ${name}\n`)
    if (!passed) tellFailure({ test: name, alone: `npm run check -- --only ${name}`, error: "" })
  }
  finish(counts)
}

/** Packs the package as npm would publish it, once. Returns the path. */
function packed() {
  if (tarball) return tarball
  const directory = join(paths.build, "pack")
  mkdirSync(directory, { recursive: true })
  const args = ["pack", "--json", "--silent", "--pack-destination", directory]
  const [{ filename }] = JSON.parse(
    execFileSync("npm", args, { cwd: paths.root, encoding: "utf8" }),
  )
  tarball = join(directory, filename)
  return tarball
}

/** Checks that no comment of src/ has lines that are too long. */
function checkComments() {
  const faults = commentFaults()
  for (const fault of faults) console.log(`${fault}: longer than ${COMMENT_MAX_COLUMNS} columns`)
  return faults.length === 0
}

/** Checks that all exports have TSDoc, and that all types they refer to are exported too. */
function checkDeclarations() {
  // A build that is not older than the sources has made them.
  if (isStale("js") && !tryRun(tool("tsc"), ["-p", "tsconfig.build.json"])) return false
  const faults = declarationFaults()
  console.log(faults.length > 0 ? faults.join("\n") : "all exports have TSDoc")
  return faults.length === 0
}

/** Checks that docs/api.md is what the declarations in dist/ give. */
function checkApi() {
  const isCurrent = readFileSync(API_DOCUMENT, "utf8") === apiDocument()
  console.log(
    isCurrent
      ? "docs/api.md is up to date"
      : "docs/api.md is out of date: npm run build -- --keep-wasm && node scripts/api.mjs",
  )
  return isCurrent
}

/** Checks the bytes that zeromq-lz4/codec adds to a page, the WebAssembly module included. */
async function checkSize() {
  const { bytes, gzip } = await bundledCodec()
  console.log(`zeromq-lz4/codec, minified: ${bytes} bytes (at most ${MAX_BYTES})`)
  console.log(`                with gzip: ${gzip} bytes (at most ${MAX_GZIP_BYTES})`)
  return bytes <= MAX_BYTES && gzip <= MAX_GZIP_BYTES
}
