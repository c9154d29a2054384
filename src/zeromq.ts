/** Loads zeromq.js, an optional peer dependency: the codec and the capture readers work without it. */
// Imported without names: webpack evaluates calls of createRequire(), and warns about names that it
// cannot resolve.
import nodeModule from "node:module"
import type * as zmq from "zeromq"
import type * as draft from "zeromq/draft.js"
import type * as compat from "zeromq/v5-compat.js"

/**
 * The `require` of CommonJS; undefined in ES modules. The build replaces the name by `require`,
 * which bundlers look for; esbuild would insert a function of its own here.
 */
declare const nodeRequire: NodeJS.Require | undefined

export const loadZeromq = (): typeof zmq =>
  load("zeromq", () => typeof nodeRequire === "function" && nodeRequire("zeromq"))
export const loadDraft = (): typeof draft =>
  load("zeromq/draft.js", () => typeof nodeRequire === "function" && nodeRequire("zeromq/draft.js"))
export const loadV5Compat = (): typeof compat =>
  load(
    "zeromq/v5-compat.js",
    () => typeof nodeRequire === "function" && nodeRequire("zeromq/v5-compat.js"),
  )

function load<T>(name: string, byLiteral: () => T | false): T {
  try {
    return find(name, byLiteral)
  } catch (error) {
    throw explained(error as NodeJS.ErrnoException, name)
  }
}

/** Loads a module of zeromq.js: by a call with its name as a literal, or from beside this file. */
function find<T>(name: string, byLiteral: () => T | false): T {
  // The require() of a single executable only knows Node's own modules.
  if (isSingleExecutable()) return nodeModule.createRequire(process.execPath)(name)
  try {
    const found = byLiteral()
    if (found) return found
  } catch (error) {
    // esbuild's substitute for require() in ES modules finds nothing.
    if (!(error as Error).message.startsWith("Dynamic require of ")) throw error
  }
  return nodeModule.createRequire(import.meta.url)(name)
}

const isSingleExecutable = (): boolean => process.getBuiltinModule?.("node:sea")?.isSea() ?? false

/** Returns the error to throw if zeromq.js cannot be loaded: one that says what to do, if possible. */
function explained(error: NodeJS.ErrnoException, name: string): Error {
  const { code, message } = error
  if (code === "MODULE_NOT_FOUND") {
    // Not errors about zeromq's own dependencies. Yarn's Plug'n'Play has its own wording.
    if (!message.includes(`'${name}'`) && !("pnpCode" in error)) return error
    return loadError(
      "ERR_LZ4_ZEROMQ_MISSING",
      "the sockets of zeromq-lz4 need zeromq.js: npm install zeromq (zeromq-lz4/codec and zeromq-lz4/capture do without it)",
      error,
    )
  }
  // The first file that zeromq.js looks for. In an ES module it does not get that far.
  const [, manifest] = /Manifest file not found at (.*)/.exec(message) ?? []
  if (manifest === undefined && !message.includes("__dirname is not defined")) return error
  if (manifest && /[\\/]zeromq[\\/]build[\\/][^\\/]*$/.test(manifest))
    return loadError(
      "ERR_LZ4_ZEROMQ_ADDON",
      `zeromq.js has no native addon, as ${manifest} is missing: npm rebuild zeromq`,
      error,
    )
  return loadError(
    "ERR_LZ4_ZEROMQ_ADDON",
    "zeromq.js was bundled, and its native addon was not: make zeromq external in the options of your bundler, and install it where the bundle runs",
    error,
  )
}

const loadError = (code: string, message: string, cause: Error): Error =>
  Object.assign(new Error(message, { cause }), { code })
