/** Writes docs/api.md, the reference of what the package exports, from the declarations in dist/. */
import { writeFileSync } from "node:fs"
import { API_DOCUMENT, apiDocument } from "./lib/api-document.mjs"
import { readArgs } from "./lib/args.mjs"
import { fail } from "./lib/run.mjs"
import { isStale } from "./lib/stale.mjs"

readArgs(
  `usage: node scripts/api.mjs

Writes docs/api.md from the declarations in dist/. Its texts are the TSDoc comments in src/, so run it after
a build when you have changed them. npm run check -- --only api reports whether it is up to date.`,
  {},
)

if (isStale("js")) fail("dist/ is older than src/: npm run build -- --keep-wasm")
writeFileSync(API_DOCUMENT, apiDocument())
