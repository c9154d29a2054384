/**
 * Resolves imports of the tests of sockets: x.js to the JavaScript that scripts/windows-sockets.mjs
 * compiled from x.ts, "vitest" to runner/vitest.ts, and "curve-wasm" and the like to modules in dist/.
 */
import { existsSync, readdirSync, readFileSync } from "node:fs"
import { registerHooks } from "node:module"

const root = new URL("../../../", import.meta.url).href
const compiled = new URL("build/windows/", root).href
const vitest = import.meta.resolve("vitest")
const files = readdirSync(new URL("dist/", root))
const carried = ["curve-wasm", "zstd-wasm"]
const fileOf = (name) =>
  new URL(`dist/${files.find((file) => file.startsWith(`${name}-`) && file.endsWith(".js"))}`, root)
    .href
const standIn = new URL("../runner/vitest.ts", import.meta.url).href

registerHooks({
  resolve(specifier, context, next) {
    if (specifier === "vitest") return next(standIn, context)
    if (carried.includes(specifier)) return next(fileOf(specifier), context)
    // In whichever directory npm installed them.
    if (/^(@vitest\/|expect-type$)/.test(specifier))
      return next(specifier, { ...context, parentURL: vitest })
    if (/^\..*\.js$/.test(specifier)) {
      const typed = new URL(specifier.replace(/js$/, "ts"), context.parentURL)
      if (existsSync(typed)) return next(typed.href, context)
    }
    return next(specifier, context)
  },
  load(url, context, next) {
    if (!url.startsWith(root) || !url.endsWith(".ts")) return next(url, context)
    const file = new URL(url.slice(root.length).replace(/ts$/, "js"), compiled)
    return { format: "module", source: readFileSync(file), shortCircuit: true }
  },
})
