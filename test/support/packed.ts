/** The package as npm would publish it. */
import { execFileSync } from "node:child_process"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"

export const root = fileURLToPath(new URL("../..", import.meta.url))

export interface Packed {
  /** Path of the tarball. */
  tarball: string
  /** The files in it. */
  files: string[]
}

/** Packs dist/ as it is. */
export function pack(directory: string): Packed {
  const args = ["pack", "--json", "--silent", "--pack-destination", directory]
  const output = execFileSync("npm", args, { cwd: root, encoding: "utf8" })
  const [{ filename, files }] = JSON.parse(output)
  return {
    tarball: join(directory, filename),
    files: files.map(({ path }: { path: string }) => path),
  }
}

/**
 * An empty directory outside of the repository, where nothing resolves to the repository's own
 * node_modules or tsconfig.json.
 */
export function temporaryDirectory(): Disposable & { path: string } {
  const path = mkdtempSync(join(tmpdir(), "zeromq-lz4-"))
  return { path, [Symbol.dispose]: () => rmSync(path, { recursive: true, force: true }) }
}
