/**
 * Prints what this package has to say about a program to stderr, which must not end the program. A write
 * to stderr fails if its disk is full or its reader has gone, and an "error" event of stderr to which
 * nobody listens ends the process. Node's console listens while it writes, unless somebody else does; a
 * pipe from a worker's stderr does, but only to throw the error again.
 */
import { setImmediate } from "../base/runtime.js"

let isShielded = false

/** Warns as process.emitWarning() does. */
export function warn(warning: string | Error, options: NodeJS.EmitWarningOptions = {}): void {
  shield()
  process.emitWarning(warning, options)
}

export function print(text: string): void {
  process.stderr.write(text, (error) => {
    if (error) shield() // the event follows
  })
}

/**
 * Listens for errors of stderr in this turn of the event loop, in which warnings are printed. Later
 * errors are those of the program's own writes.
 */
function shield(): void {
  if (isShielded) return
  isShielded = true
  const { stderr } = process
  stderr.on("error", ignored)
  setImmediate(() => {
    isShielded = false
    stderr.off("error", ignored)
  }).unref()
}

function ignored(): void {}
