/** The entry points of the package, derived from package.json's `exports`. */
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { root } from "./paths.mjs"

/**
 * @typedef {object} Entry
 * @property {string} name        as programs import it: zeromq-lz4/codec
 * @property {string} module      its path in src/ and dist/, without an extension: codec/index
 * @property {boolean} isForBrowsers  whether it is an ES module, except in Node
 */

const { name, exports } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"))

/** @type {Entry[]} */
export const entries = []
/** Exports that are files rather than modules: "./codec.wasm". @type {string[]} */
export const exportedFiles = []

for (const [path, target] of Object.entries(exports))
  if (typeof target === "string") exportedFiles.push(path)
  // "./draft.js" is "./draft", as ES modules import it from zeromq.js.
  else if (!path.endsWith(".js"))
    entries.push({
      name: name + path.slice(1),
      module: target.types.require.replace(/^\.\/dist\/(.*)\.d\.cts$/, "$1"),
      isForBrowsers: target.default.endsWith(".js"),
    })
