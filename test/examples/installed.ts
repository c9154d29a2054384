/** The folders of examples/, installed and started as their READMEs say. */
import { execFile, spawn } from "node:child_process"
import { cpSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { promisify } from "node:util"

import { root } from "../support/packed.js"
import { PATIENCE } from "../support/patience.js"
import { Group } from "../support/process-group.js"

const source = join(root, "examples")

export const folders: readonly string[] = readdirSync(source, { withFileTypes: true })
  .filter((entry) => entry.isDirectory())
  .map(({ name }) => name)

/** What somebody may have installed in the folders of examples/, or the examples have made. */
const isMade = (path: string) =>
  /(^|\/)(node_modules|\.venv|keys|package-lock\.json|[^/]+\.archive)(\/|$)/.test(path)

/** Returns the files of an example. */
export const filesOf = (name: string): string[] =>
  readdirSync(join(source, name), { recursive: true, encoding: "utf8" }).filter(
    (file) => !isMade(file) && statSync(join(source, name, file)).isFile(),
  )

interface Manifest {
  dependencies: Record<string, string>
  scripts: Record<string, string>
}

export const manifestOf = (name: string): Manifest =>
  JSON.parse(readFileSync(join(source, name, "package.json"), "utf8"))

/**
 * Copies an example and installs what its package.json names: the tarball for this package, and of
 * other packages the versions of our own lock file, so that they are the same every time.
 */
export async function install(name: string, tarball: string, directory: string): Promise<string> {
  const at = join(directory, name)
  for (const file of filesOf(name)) cpSync(join(source, name, file), join(at, file))
  const manifest = manifestOf(name)
  if (!manifest.dependencies["zeromq-lz4"]) throw new Error(`${name} does not name zeromq-lz4`)
  manifest.dependencies["zeromq-lz4"] = `file:${tarball}`
  const { packages } = JSON.parse(readFileSync(join(root, "package-lock.json"), "utf8"))
  const lock = { lockfileVersion: 3, requires: true, packages: { ...packages, "": manifest } }
  writeFileSync(join(at, "package.json"), JSON.stringify(manifest))
  writeFileSync(join(at, "package-lock.json"), JSON.stringify(lock))
  const quick = ["--prefer-offline", "--ignore-scripts", "--no-audit", "--no-fund"]
  await promisify(execFile)("npm", ["install", ...quick], { cwd: at })
  return at
}

/** Starts a command line with time limits that do not expire because the machine is busy. */
export function start(line: string, at: string, environment: Record<string, string> = {}): Group {
  const [program, ...args] = line.split(" ") as [string, ...string[]]
  const env = { ...process.env, NODE_OPTIONS: PATIENCE, ...environment }
  return new Group(spawn(program, args, { cwd: at, detached: true, env }), at)
}
