/** Puts modules that few programs need into the package, as text in files that are read when they are needed. */
import { createHash } from "node:crypto"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { build } from "./paths.mjs"

/** The names by which src/ imports them. */
export const CARRIED = ["curve-wasm", "zstd-wasm"]
const ANY = /^(curve|zstd)-wasm$/

/** Returns a module in base64. @param {string} name */
export const carriedWasm = (name) =>
  readFileSync(join(build, `${name.replace("-wasm", "")}.wasm`), "base64")

/**
 * Returns the module of dist/ that exports the text. The hash in its name keeps a process from reading that of
 * another version, if the package is replaced while it runs.
 * @param {string} name
 */
export const carriedFile = (name) => {
  let file = files.get(name)
  if (!file) {
    const hash = createHash("sha256").update(carriedWasm(name)).digest("hex").slice(0, 8)
    file = `${name}-${hash.toUpperCase()}.js`
    files.set(name, file)
  }
  return file
}
/** @type {Map<string, string>} */
const files = new Map()

/** Resolves the names to these modules. @type {import("esbuild").Plugin} */
export const separateWasm = {
  name: "separate-wasm",
  setup(esbuild) {
    esbuild.onResolve({ filter: ANY }, ({ path }) => ({
      path: `./${carriedFile(path)}`,
      external: true,
    }))
  },
}

/** Puts them into the bundle. @type {import("esbuild").Plugin} */
export const bundledWasm = {
  name: "bundled-wasm",
  setup(esbuild) {
    esbuild.onResolve({ filter: ANY }, ({ path }) => ({ path, namespace: "carried" }))
    esbuild.onLoad({ filter: /^/, namespace: "carried" }, ({ path }) => ({
      contents: `export default "${carriedWasm(path)}"`,
    }))
  },
}

/** Leaves the texts out. @type {import("esbuild").Plugin} */
export const withoutWasm = {
  name: "without-wasm",
  setup(esbuild) {
    esbuild.onResolve({ filter: ANY }, ({ path }) => ({ path, namespace: "none" }))
    esbuild.onLoad({ filter: /^/, namespace: "none" }, () => ({ contents: `export default ""` }))
  },
}
