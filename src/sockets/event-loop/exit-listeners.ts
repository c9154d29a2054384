/**
 * Listeners for the end of the process, which all copies of the package share: each reload (`delete
 * require.cache[…]`, a test's module registry) makes another copy, and Node warns of a leak from the
 * eleventh listener on. A copy without sockets is not referred to, so that it can be collected.
 */
import { mustSettle, settle } from "./settle.js"

/** A copy of the package. Other versions of the package call it. */
interface Copy {
  beforeExit(): void
  exit(): void
}

/** The state that all copies share. If it changes, so must `KEY`. */
interface Shared {
  readonly copies: Set<Copy>
  /** The listeners on `process`, by whichever copy added them. */
  listeners: Copy | undefined
}

const KEY = Symbol.for("zeromq-lz4: exit listeners, 1")
const holder = process as { [KEY]?: Shared }

export function listenForExit(copy: Copy): void {
  holder[KEY] ??= { copies: new Set(), listeners: undefined }
  const shared = holder[KEY]
  shared.copies.add(copy)
  shared.listeners ??= {
    beforeExit() {
      for (const one of shared.copies) one.beforeExit()
    },
    exit() {
      for (const one of shared.copies) one.exit()
      if (mustSettle) settle()
    },
  }
  const { beforeExit, exit } = shared.listeners
  // They may be missing: programs call process.removeAllListeners().
  if (!process.listeners("beforeExit").includes(beforeExit)) process.on("beforeExit", beforeExit)
  if (!process.listeners("exit").includes(exit)) process.on("exit", exit)
}

/** Forgets a copy, and the listeners with the last one, except in Node 20, which needs `settle()`. */
export function forgetExit(copy: Copy): void {
  const shared = holder[KEY]
  if (!shared?.copies.delete(copy) || shared.copies.size > 0 || mustSettle) return
  const { beforeExit, exit } = shared.listeners as Copy
  process.off("beforeExit", beforeExit)
  process.off("exit", exit)
  shared.listeners = undefined
}
