/** The corpora of the C programs that libFuzzer runs: a file for each, with an input in base64 on each line. */
import { createHash } from "node:crypto"
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { root } from "./paths.mjs"

const corpusOf = (/** @type {string} */ name) => join(root, "test/fuzz-corpus", `${name}.txt`)

/** Writes the inputs of a target to a directory, which libFuzzer wants. @param {string} name @param {string} directory */
export function unpack(name, directory) {
  rmSync(directory, { recursive: true, force: true })
  mkdirSync(directory, { recursive: true })
  if (!existsSync(corpusOf(name))) return
  for (const line of readFileSync(corpusOf(name), "utf8").split("\n")) {
    const input = Buffer.from(line, "base64")
    // As libFuzzer names those that it finds.
    writeFileSync(join(directory, createHash("sha1").update(input).digest("hex")), input)
  }
}

/** Makes the inputs in a directory the corpus of a target. Returns their number. @param {string} name @param {string} directory */
export function pack(name, directory) {
  const inputs = readdirSync(directory).map((file) => readFileSync(join(directory, file), "base64"))
  // The shortest first, as libFuzzer plays them.
  inputs.sort((a, b) => a.length - b.length || (a < b ? -1 : 1))
  writeFileSync(corpusOf(name), inputs.join("\n"))
  return inputs.length
}
