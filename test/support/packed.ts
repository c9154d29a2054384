/** The package as npm would publish it. */
import { execFileSync } from "node:child_process"
import { existsSync, mkdtempSync, rmSync, statSync } from "node:fs"
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

/** What a program prints; throws with all of its output when it fails. */
export function run(program: string, args: string[], cwd: string): string {
  try {
    return execFileSync(program, args, { cwd, encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] })
  } catch (error) {
    const { message, stdout, stderr } = error as Error & { stdout: string; stderr: string }
    throw new Error(`${program} ${args.join(" ")}: ${message}\n${stdout}${stderr}`)
  }
}

/** Installs what a directory's lock file says, where that has not been done. */
export function installLocked(directory: string): void {
  const installed = join(directory, "node_modules/.package-lock.json")
  const wanted = join(directory, "package-lock.json")
  if (!existsSync(installed) || statSync(installed).mtimeMs + 2000 < statSync(wanted).mtimeMs)
    run("npm", ["ci", "--no-audit", "--no-fund"], directory)
}
