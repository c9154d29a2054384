/** Runs git on the repository. */
import { execFileSync } from "node:child_process"
import { root } from "./paths.mjs"

/** Returns git's output; null outside of a checkout, or without a commit. @param {string[]} args */
export function git(...args) {
  try {
    return execFileSync("git", args, {
      cwd: root,
      encoding: "utf8",
      stdio: "pipe",
      maxBuffer: 2 ** 28,
    }).trim()
  } catch {
    return null
  }
}
