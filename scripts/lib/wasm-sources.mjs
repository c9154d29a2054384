/** The sources of the WebAssembly modules, as one hash. */
import { createHash } from "node:crypto"
import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import * as paths from "./paths.mjs"

/** Folders of wasm/ whose programs are native. */
export const NATIVE = ["test", "fuzz"]
/** How the modules are compiled, and from what. */
export const RECIPE = ["scripts/lib/build-wasm.mjs", "scripts/lib/sources.mjs"]
/** The packages that have the C sources of liblz4, libzstd and libsodium. */
const LIBRARIES = ["liblz4", "libzstd", "sodium-native"]

/** The file of dist/ with the hash of what its modules were built from. */
export const HASH_FILE = "wasm-sources.txt"

/** Returns the hash of all that the modules are built from, as it is now. */
export function hashOfSources() {
  const hash = createHash("sha256")
  for (const path of [...sourcesIn("wasm"), ...RECIPE])
    hash.update(`${path}\n`).update(readFileSync(join(paths.root, path)))
  const { packages } = JSON.parse(readFileSync(join(paths.root, "package-lock.json"), "utf8"))
  for (const name of LIBRARIES) hash.update(packages[`node_modules/${name}`].integrity)
  return hash.digest("hex")
}

/** @param {string} directory @returns {string[]} paths below the root, in order */
function sourcesIn(directory) {
  const inside = readdirSync(join(paths.root, directory), { withFileTypes: true })
  const wanted = inside.filter(({ name }) => !NATIVE.includes(name) && !name.endsWith(".md"))
  return wanted
    .flatMap((entry) => {
      const path = `${directory}/${entry.name}`
      return entry.isDirectory() ? sourcesIn(path) : [path]
    })
    .sort()
}
