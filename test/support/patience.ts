/** Time limits of programs that must not expire because the machine is busy. */

const code = `
  import timers from "node:timers"
  import { syncBuiltinESMExports } from "node:module"
  const { setTimeout } = timers
  const longer = (callback, ms, ...args) =>
    setTimeout(callback, ms >= 2000 ? 100 * ms : ms, ...args)
  Object.defineProperties(longer, Object.getOwnPropertyDescriptors(setTimeout))
  globalThis.setTimeout = timers.setTimeout = longer
  syncBuiltinESMExports()`

/**
 * An option of Node with which each limit of two seconds or more is a hundred times as long. Not that of a second for the
 * end of a peer (transport/farewell.ts), which some tests wait for.
 */
export const PATIENCE: string = `--import=data:text/javascript,${encodeURIComponent(code)}`
