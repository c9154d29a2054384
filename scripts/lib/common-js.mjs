/** CommonJS of the ES modules that esbuild has made, and modules that name its exports for `import`. */

/** Statements of esbuild's output: each begins a line, and those with braces have a name on each. */
const IMPORT = /^import (?:(\* as )?(\w+)|\{([^}]*)\}) from "([^"]+)";$/gm
const IMPORT_FOR_EFFECTS = /^import "([^"]+)";$/gm
const EXPORT = /^export \{([^}]*)\};$/gm

/** A file's name as CommonJS; names of packages stay. @param {string} name */
const renamed = (name) => name.replace(/^(\..*)\.js$/, "$1.cjs")

/** Pairs of what `a as b, c` lists. @param {string} list @returns {[from: string, to: string][]} */
const pairs = (list) =>
  list
    .split(",")
    .filter((item) => item.trim())
    .map((item) => {
      const [from, to = from] = item.trim().split(" as ")
      return [from, to]
    })

/**
 * The same module as CommonJS, line by line, so that it shares the source map. Bindings are taken when a
 * module is loaded: no export changes later, and no import is part of a circle.
 * @param {string} module
 */
export function toCommonJs(module) {
  const code = module
    .replace(IMPORT, (_, star, name, list, from) => {
      const required = `require("${renamed(from)}");`
      if (name)
        return `const ${name} = ${from.startsWith(".") && !star ? required.replace(";", ".default;") : required}`
      return `const {${list.replaceAll(" as ", ": ")}} = ${required}`
    })
    .replace(IMPORT_FOR_EFFECTS, (_, from) => `require("${renamed(from)}");`)
    .replace(EXPORT, (_, list) =>
      [
        'Object.defineProperty(exports, "__esModule", { value: true });',
        ...pairs(list).map(([from, to]) => `exports.${to} = ${from};`),
      ].join("\n"),
    )
    .replaceAll("import.meta.url", "__filename")
  return `"use strict";${code}`
}

/**
 * An ES module with the exports of its CommonJS form, in the same directory. No `import`: an error in what that
 * loads, such as that zeromq.js is missing, would end a process of Node 20 even if it were caught.
 * @param {string} module @param {string} file
 */
export function wrapper(module, file) {
  const names = [...module.matchAll(EXPORT)].flatMap(([, list]) => pairs(list).map(([, to]) => to))
  return `import { createRequire } from "node:module";
const commonJs = createRequire(import.meta.url)("./${file}");
${names
  .map((name) =>
    name === "default"
      ? "export default commonJs.default;"
      : `export const ${name} = commonJs.${name};`,
  )
  .join("\n")}
`
}
