/** Finds lines of comments in src/ that are too long: Biome wraps code, but no comments. */
import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import * as paths from "./paths.mjs"

export const COMMENT_MAX_COLUMNS = 105

/** Returns the numbers of the lines of `text` that have too long a comment. @param {string} text */
export function longComments(text) {
  const lines = text.split("\n")
  const isLong = (/** @type {string} */ line) =>
    line.length > COMMENT_MAX_COLUMNS && /^\s*(\/\/|\/\*|\*)/.test(line)
  return lines.flatMap((line, i) => (isLong(line) ? [i + 1] : []))
}

/** Lists the lines of comments that are too long, as "path:line". */
export function commentFaults() {
  const src = join(paths.root, "src")
  const files = readdirSync(src, { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".ts"))
    .sort()
    .map((name) => join(src, name))
  return files.flatMap((file) =>
    longComments(readFileSync(file, "utf8")).map((line) => `${paths.shown(file)}:${line}`),
  )
}
