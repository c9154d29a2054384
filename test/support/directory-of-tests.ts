/** A directory for what the tests of a file write, which is removed after them. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll } from "vitest"

export function directoryOfTests() {
  const directory = mkdtempSync(join(tmpdir(), "zeromq-lz4-"))
  afterAll(() => rmSync(directory, { recursive: true }))
  const at = (name: string): string => join(directory, name)
  return {
    directory,
    at,
    /** Writes a file, and returns its path. */
    file(name: string, content: string | Uint8Array): string {
      writeFileSync(at(name), content)
      return at(name)
    },
  }
}
