/** Absolute paths in the repository; directories have no slash at the end. */
import { join } from "node:path"
import { fileURLToPath } from "node:url"

export const root = fileURLToPath(new URL("../..", import.meta.url)).replace(/[/\\]$/, "")

export const build = join(root, "build")
export const dist = join(root, "dist")
export const wasm = join(root, "wasm")
/** liblz4's unmodified C sources, which the npm package "lmdb" contains. */
export const liblz4 = join(root, "node_modules/liblz4/dependencies/lz4/lib")

/** libzstd's unmodified C sources of version 1.5.7, which the npm package "zstd-napi" contains. */
export const libzstd = join(root, "node_modules/libzstd/deps/zstd/lib")

/** The unmodified C sources of libsodium 1.0.17, which the npm package "sodium-native" contains. */
export const libsodium = join(root, "node_modules/sodium-native/libsodium/src/libsodium")

/** Shortens a path, or an argument of a command line, for messages. @param {string} path */
export const shown = (path) =>
  path === process.execPath
    ? "node"
    : path.startsWith(`${root}/`)
      ? path.slice(root.length + 1)
      : path
