/** Files that commands write: never over their own input, and no more public than that. */
import {
  type BigIntStats,
  closeSync,
  constants,
  fchmodSync,
  fstatSync,
  ftruncateSync,
  openSync,
  statSync,
  writeSync,
} from "node:fs"
import { fileError, UsageError } from "./errors.js"
import { nameOf } from "./input.js"

/** Permissions of the owner, which an output always has. */
const OWNER = 0o600
const ALL = 0o666
const GROUP = 0o060
const OTHERS = 0o006

/** An output of a command that reads `inputs`. Create it before they are read. */
export class OutputFile {
  readonly #option: string
  readonly #file: string
  /** The inputs that were found, by name. */
  readonly #inputs: ReadonlyMap<string, BigIntStats>
  #descriptor: number | undefined

  /** @throws UsageError if the output is one of the inputs, whatever it is called. */
  constructor(option: string, file: string, inputs: readonly string[]) {
    this.#option = option
    this.#file = file
    const found = inputs.map((input) => [input, statsOf(input)] as const)
    this.#inputs = new Map(found.filter((entry): entry is [string, BigIntStats] => !!entry[1]))
    const existing = statsOf(file)
    if (existing) this.#checkNotInput(existing)
  }

  /**
   * Writes the file. Who may not read an input may not read it either.
   *
   * @throws InputError if it cannot be written.
   */
  write(content: string | Uint8Array): void {
    try {
      this.append(content)
    } finally {
      this.close()
    }
  }

  /** Appends to what earlier calls wrote; the first call replaces the file. Throws as `write` does. */
  append(content: string | Uint8Array): void {
    const bytes = typeof content === "string" ? Buffer.from(content) : content
    try {
      const descriptor = this.#descriptor ?? this.#open()
      for (let at = 0; at < bytes.length; ) at += writeSync(descriptor, bytes, at)
    } catch (error) {
      if (error instanceof UsageError) throw error
      throw fileError(this.#file, error, "no such directory")
    }
  }

  close(): void {
    if (this.#descriptor !== undefined) closeSync(this.#descriptor)
    this.#descriptor = undefined
  }

  #open(): number {
    // Not emptied before it is known to be another file, and as private as it has to be.
    const flags = constants.O_WRONLY | constants.O_CREAT
    const descriptor = openSync(this.#file, flags, this.#mode(undefined))
    this.#descriptor = descriptor
    const stats = fstatSync(descriptor, { bigint: true })
    this.#checkNotInput(stats)
    if (stats.isFile()) {
      const mode = Number(stats.mode) & 0o777
      const allowed = mode & (this.#mode(stats) | 0o111)
      if (allowed !== mode) fchmodSync(descriptor, allowed)
      ftruncateSync(descriptor, 0)
    }
    return descriptor
  }

  #checkNotInput({ dev, ino }: BigIntStats): void {
    for (const [input, stats] of this.#inputs)
      if (stats.isFile() && stats.dev === dev && stats.ino === ino)
        throw new UsageError(`${this.#option} would write over ${nameOf(input)}`)
  }

  /** Returns the permissions that no input forbids. Those of a group are for the same group only. */
  #mode(output: BigIntStats | undefined): number {
    let mode = ALL
    for (const stats of this.#inputs.values()) {
      // A pipe's permissions say nothing about what is in it.
      if (!stats.isFile()) continue
      const given = Number(stats.mode)
      const others = given & OTHERS
      const group = output && output.gid !== stats.gid ? others << 3 : given & GROUP
      mode &= OWNER | group | others
    }
    return mode
  }
}

/** Returns what is known of a file; undefined if it cannot be found. Opening it will say why. */
function statsOf(file: string): BigIntStats | undefined {
  try {
    return file === "-" ? fstatSync(0, { bigint: true }) : statSync(file, { bigint: true })
  } catch {
    return undefined
  }
}
