/** Converts esbuild's ES modules to CommonJS, and makes ES modules that re-export these by name. */

import { CARRIED, carriedFile } from "./carried-wasm.mjs"

/** Statements in esbuild's output. Each begins a line; those with braces have one name per line. */
const IMPORT = /^import (?:(\* as )?(\w+)|\{([^}]*)\}) from "([^"]+)";$/gm
const IMPORT_FOR_EFFECTS = /^import "([^"]+)";$/gm
/** Of the package's own modules. What awaits it goes on at once. */
const IMPORT_LATER = /\bimport\("(\.[^"]+)"\)/g
const EXPORT = /^export \{([^}]*)\};$/gm

/**
 * A default export beside others has all of them. It is what `require()` returns, as with zeromq.js:
 * tests replace members of it, which those of esbuild's object do not allow.
 */
const DEFAULT = 'Object.defineProperty(exports, "default", { value: exports });'

/** Returns the name of the CommonJS file; names of packages do not change. @param {string} name */
const renamed = (name) => name.replace(/^(\..*)\.js$/, "$1.cjs")

/** Parses a list such as `a as b, c` into pairs. @param {string} list @returns {[from: string, to: string][]} */
const pairs = (list) =>
  list
    .split(",")
    .filter((item) => item.trim())
    .map((item) => {
      const [from, to = from] = item.trim().split(" as ")
      return [from, to]
    })

/**
 * Converts a module to CommonJS, line by line, so that it shares the source map. Imports are read
 * once, when a module is loaded: no export changes later, and there are no circular imports.
 * @param {string} module
 */
export function toCommonJs(module) {
  const code = module
    .replace(IMPORT, (_, star, name, list, from) => {
      const required = `require("${renamed(from)}");`
      // Most programs never need this file.
      if (CARRIED.some((name) => from.endsWith(`/${carriedFile(name)}`)))
        return `const ${name} = { get default() { return ${required.replace(";", ".default;")} } };`
      if (name)
        return `const ${name} = ${from.startsWith(".") && !star ? required.replace(";", ".default;") : required}`
      return `const {${list.replaceAll(" as ", ": ")}} = ${required}`
    })
    .replace(IMPORT_FOR_EFFECTS, (_, from) => `require("${renamed(from)}");`)
    .replace(EXPORT, (_, list) =>
      [
        'Object.defineProperty(exports, "__esModule", { value: true });',
        ...pairs(list).map(([from, to], _, { length }) =>
          to === "default" && length > 1 ? DEFAULT : `exports.${to} = ${from};`,
        ),
      ].join("\n"),
    )
    .replaceAll(IMPORT_LATER, (_, from) => `require("${renamed(from)}")`)
    .replaceAll("import.meta.url", "__filename")
  return `"use strict";${code}`
}

/**
 * Returns a CommonJS file that loads another one and never throws. An ES module cannot import a file that
 * throws, because zeromq.js is missing for example: in Node 20 that ends the process, even if the error is caught.
 * @param {string} file
 */
export function loader(file) {
  return `"use strict";
try {
  exports.loaded = require("./${file}");
} catch (error) {
  exports.error = error;
}
`
}

/**
 * Returns an ES module that re-exports a CommonJS file by name. Bundlers and tracers follow its `import`.
 * @param {string} module @param {string} file  its loader, in the same directory
 */
export function wrapper(module, file) {
  const names = [...module.matchAll(EXPORT)].flatMap(([, list]) => pairs(list).map(([, to]) => to))
  return `import commonJs from "./${file}";
if (commonJs.error) throw commonJs.error;
const { loaded } = commonJs;
${names
  .map((name) =>
    name === "default"
      ? "export default loaded.default;"
      : `export const ${name} = loaded.${name};`,
  )
  .join("\n")}
`
}
