import { statSync } from "node:fs"
import { clockMs } from "../base/runtime.js"

const FIRST_MS = 1000
const EACH_MS = 200

/**
 * A line on standard error with the share of the files that was read. It is shown on a terminal with
 * little other output, because that is redirected or filtered.
 */
export class Progress {
  readonly #totalBytes: number
  #bytes = 0
  #shown = false
  #next = clockMs() + FIRST_MS

  constructor(files: readonly string[], filtered: boolean) {
    const wanted =
      !files.includes("-") && process.stderr.isTTY && (filtered || !process.stdout.isTTY)
    this.#totalBytes = wanted ? files.reduce((sum, file) => sum + sizeOf(file), 0) : 0
  }

  add(bytes: number): void {
    this.#bytes += bytes
    if (this.#totalBytes === 0 || clockMs() < this.#next) return
    this.#next = clockMs() + EACH_MS
    this.#shown = true
    const percent = Math.floor((100 * this.#bytes) / this.#totalBytes)
    const read = `${inMiB(this.#bytes)} of ${inMiB(this.#totalBytes)} MiB`
    process.stderr.write(`\r${read} read, ${Math.min(percent, 100)} %\x1b[K`)
  }

  /** Clears the line before other output is printed. */
  clear(): void {
    if (this.#shown) process.stderr.write("\r\x1b[K")
    this.#shown = false
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
