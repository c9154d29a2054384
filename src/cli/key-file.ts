import { openSync, readSync } from "node:fs"
import { KeyLog } from "../capture/key-log.js"
import { fileError, InputError } from "./errors.js"

const CHUNK_BYTES = 64 * 1024

/** A key log that another process may still write. */
export class KeyFile {
  readonly log: KeyLog = new KeyLog()
  readonly #name: string
  readonly #descriptor: number
  readonly #chunk = Buffer.alloc(CHUNK_BYTES)

  /** @throws InputError if it cannot be read, or is no key log. */
  constructor(name: string) {
    this.#name = name
    try {
      this.#descriptor = openSync(name, "r") // closed with the process
    } catch (error) {
      throw fileError(name, error)
    }
    this.refresh()
  }

  /** Reads what was appended. @throws InputError like the constructor. */
  refresh(): void {
    for (let text = this.#next(); text !== ""; text = this.#next()) this.#add(text)
  }

  #next(): string {
    try {
      const length = readSync(this.#descriptor, this.#chunk)
      return this.#chunk.toString("latin1", 0, length)
    } catch (error) {
      throw fileError(this.#name, error)
    }
  }

  #add(text: string): void {
    try {
      this.log.add(text)
    } catch (error) {
      throw notKeyLog(this.#name, error)
    }
  }
}

export const notKeyLog = (name: string, error: unknown): InputError =>
  new InputError(`--keys ${name}: ${(error as SyntaxError).message}`)
