import { statSync } from "node:fs"
import { clockMs } from "../base/runtime.js"

const FIRST_MS = 1000
const EACH_MS = 200

/** A line on a terminal's standard error that says how far long work is. */
export class Progress {
  readonly #isWanted: boolean
  #isShown = false
  #nextMs = clockMs() + FIRST_MS

  constructor(isWanted = true) {
    this.#isWanted = isWanted && process.stderr.isTTY
  }

  /** Shows what `text` returns, unless the line was shown a moment ago. */
  show(text: () => string): void {
    if (!this.#isWanted || clockMs() < this.#nextMs) return
    this.#nextMs = clockMs() + EACH_MS
    this.#isShown = true
    process.stderr.write(`\r${text()} %\x1b[K`)
  }

  /** Clears the line before other output is printed. */
  clear(): void {
    if (this.#isShown) process.stderr.write("\r\x1b[K")
    this.#isShown = false
  }
}

/** Returns a function to call with the size of each chunk, which shows the share that was read. */
export function shareOf(files: readonly string[], progress: Progress): (bytes: number) => void {
  const totalBytes = files.reduce((sum, file) => sum + sizeOf(file), 0)
  let doneBytes = 0
  return (bytes) => {
    doneBytes += bytes
    progress.show(() => {
      const percent = Math.min(Math.floor((100 * doneBytes) / totalBytes), 100)
      return `${inMiB(doneBytes)} of ${inMiB(totalBytes)} MiB read, ${percent}`
    })
  }
}

/** Returns the size of a file; 0 if not known. Errors are reported when the file is read. */
function sizeOf(file: string): number {
  try {
    return statSync(file).size
  } catch {
    return 0
  }
}

const inMiB = (bytes: number): string => (bytes / (1 << 20)).toFixed(1)
