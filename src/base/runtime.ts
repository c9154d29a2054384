/**
 * The timers, queues and clock of the runtime, taken when the package is loaded. Tests replace the
 * globals by fake ones, and connections have to go on, as libzmq's do. The linter keeps all other
 * files from using the globals.
 */

type Runtime = typeof globalThis

const host = (typeof process === "undefined" ? {} : process) as Partial<NodeJS.Process>
/** Node's own timers: the globals of Jest may be those of a page. */
const timers = (host.getBuiltinModule?.("node:timers") ?? globalThis) as Runtime

/**
 * Returns a function of the runtime. Fake timers may be installed already: those of Jest, vitest and
 * Sinon (all of them `@sinonjs/fake-timers`) keep what they replace.
 */
function real<From extends object, Name extends keyof From & string>(from: From, name: Name) {
  const current = from[name] as From[Name] & { clock?: Record<string, From[Name]> }
  return current?.clock?.[`_${name}`] ?? current
}

export const setTimeout: Runtime["setTimeout"] = /* @__PURE__ */ real(timers, "setTimeout")
export const clearTimeout: Runtime["clearTimeout"] = /* @__PURE__ */ real(timers, "clearTimeout")
export const setInterval: Runtime["setInterval"] = /* @__PURE__ */ real(timers, "setInterval")
export const clearInterval: Runtime["clearInterval"] = /* @__PURE__ */ real(timers, "clearInterval")
export const queueMicrotask: Runtime["queueMicrotask"] = /* @__PURE__ */ real(
  globalThis,
  "queueMicrotask",
)

// Not in browsers.
export const setImmediate: Runtime["setImmediate"] = /* @__PURE__ */ real(timers, "setImmediate")
export const clearImmediate: Runtime["clearImmediate"] = /* @__PURE__ */ real(
  timers,
  "clearImmediate",
)
export const nextTick: NodeJS.Process["nextTick"] = /* @__PURE__ */ real(
  host as NodeJS.Process,
  "nextTick",
)
export const hrtime: NodeJS.HRTime = /* @__PURE__ */ real(host as NodeJS.Process, "hrtime")

const clock = /* @__PURE__ */ real({ performance }, "performance")
/** Returns the milliseconds since a fixed point in time. */
export const clockMs: () => number =
  /* @__PURE__ */
  // Tests put a now() of theirs on the real clock as well. Not all runtimes have one below it.
  ((Object.getPrototypeOf(clock) as Performance).now ?? clock.now).bind(clock)
