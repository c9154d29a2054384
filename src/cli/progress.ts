import { statSync } from "node:fs"

const FIRST_MS = 1000
const EACH_MS = 200

/**
 * A line on standard error that tells how much of a file is read. It is shown at a terminal where
 * little else may be: the output goes elsewhere, or a filter holds most of it back.
 */
export class Progress {
  readonly #totalBytes: number
  #bytes = 0
  #shown = false
  #next = performance.now() + FIRST_MS

  constructor(file: string, filtered: boolean) {
    const wanted = file !== "-" && process.stderr.isTTY && (filtered || !process.stdout.isTTY)
    this.#totalBytes = wanted ? sizeOf(file) : 0
  }

  add(bytes: number): void {
    this.#bytes += bytes
    if (this.#totalBytes === 0 || performance.now() < this.#next) return
    this.#next = performance.now() + EACH_MS
    this.#shown = true
    const percent = Math.floor((100 * this.#bytes) / this.#totalBytes)
    const read = `${inMiB(this.#bytes)} of ${inMiB(this.#totalBytes)} MiB`
    process.stderr.write(`\r${read} read, ${Math.min(percent, 100)} %\x1b[K`)
  }

  /** Takes the line away, before something else is printed. */
  clear(): void {
    if (this.#shown) process.stderr.write("\r\x1b[K")
    this.#shown = false
  }
}

/** 0 where that is not known; what is wrong with the file shows when it is read. */
function sizeOf(file: string): number {
  try {
    return statSync(file).size
  } catch {
    return 0
  }
}

const inMiB = (bytes: number): string => (bytes / (1 << 20)).toFixed(1)
