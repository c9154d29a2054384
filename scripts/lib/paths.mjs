/** Places in the repository. Absolute paths; directories without a slash at the end. */
import { join } from "node:path"
import { fileURLToPath } from "node:url"

export const root = fileURLToPath(new URL("../..", import.meta.url)).replace(/[/\\]$/, "")

export const build = join(root, "build")
export const dist = join(root, "dist")
export const wasm = join(root, "wasm")
/** liblz4's C sources: its own, unmodified, carried by the npm package "lmdb". */
export const liblz4 = join(root, "node_modules/liblz4/dependencies/lz4/lib")

/** A path, or a word of a command line, as messages show it. @param {string} path */
export const shown = (path) =>
  path === process.execPath
    ? "node"
    : path.startsWith(`${root}/`)
      ? path.slice(root.length + 1)
      : path
