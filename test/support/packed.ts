/** The package as npm would publish it. */
import { execFileSync } from "node:child_process"
import { existsSync, mkdtempSync, rmSync, statSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"

export const root = fileURLToPath(new URL("../..", import.meta.url))

export interface Packed {
  /** The path of the tarball. */
  tarball: string
  /** The files in it. */
  files: string[]
}

/** Packs the current dist/. */
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
 * Creates an empty directory outside of the repository, so that its node_modules and tsconfig.json
 * are not found.
 */
export function temporaryDirectory(): Disposable & { path: string } {
  const path = mkdtempSync(join(tmpdir(), "zeromq-lz4-"))
  return { path, [Symbol.dispose]: () => rmSync(path, { recursive: true, force: true }) }
}

/** Returns the output of a program; `environment` is added to this process's. Throws with all of its output if it fails. */
export function run(
  program: string,
  args: string[],
  cwd: string,
  environment: NodeJS.ProcessEnv = {},
): string {
  try {
    return execFileSync(program, args, {
      ...{ cwd, encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] },
      env: { ...process.env, ...environment },
    })
  } catch (error) {
    const { message, stdout, stderr } = error as Error & { stdout: string; stderr: string }
    throw new Error(`${program} ${args.join(" ")}: ${message}\n${stdout}${stderr}`)
  }
}

/** Installs the packages of a directory's lock file, unless that has been done. */
export function installLocked(directory: string): void {
  const installed = join(directory, "node_modules/.package-lock.json")
  const wanted = join(directory, "package-lock.json")
  if (!existsSync(installed) || statSync(installed).mtimeMs + 2000 < statSync(wanted).mtimeMs)
    run("npm", ["ci", "--no-audit", "--no-fund"], directory)
}
