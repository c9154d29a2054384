/** Time limits of programs that must not expire because the machine is busy. */

const code = `
  import timers from "node:timers"
  import { syncBuiltinESMExports } from "node:module"
  const { setTimeout } = timers
  const longer = (callback, ms, ...args) =>
    setTimeout(callback, ms >= 1000 ? 100 * ms : ms, ...args)
  Object.defineProperties(longer, Object.getOwnPropertyDescriptors(setTimeout))
  globalThis.setTimeout = timers.setTimeout = longer
  syncBuiltinESMExports()`

/** An option of Node with which each limit of a second or more is a hundred times as long. */
export const PATIENCE: string = `--import=data:text/javascript,${encodeURIComponent(code)}`
