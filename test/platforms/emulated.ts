/** Runs tests of this repository on other processors, which qemu emulates. */
import { spawn } from "node:child_process"
import { once } from "node:events"
import { existsSync, mkdirSync, readFileSync, rmSync } from "node:fs"
import { basename, join } from "node:path"
import { pathToFileURL } from "node:url"
import { build, type Plugin } from "esbuild"
import { describe, expect, test } from "vitest"

import { carriedFile } from "../../scripts/lib/carried-wasm.mjs"
import { entries } from "../../scripts/lib/entries.mjs"
import { type Architecture, emulatedNode } from "../../scripts/lib/runtimes.mjs"
import { root } from "../support/packed.js"
import type { Report } from "./runner/main.js"

const runner = join(root, "test/platforms/runner")

/** Time limit for a run, for one that hangs. */
const LIMIT_MS = 20 * 60_000

interface Run {
  /** Paths from test/, without the suffix. */
  files: string[]
  /** A pattern of the tests to run, if not all. */
  only?: string
  environment?: Record<string, string>
}

/** Runs files of tests, and gives each of their tests its result in this process. */
export async function describeEmulated(
  name: string,
  architecture: Architecture,
  { files, only, environment = {} }: Run,
): Promise<void> {
  const directory = join(root, "build/emulated", `${architecture} ${name}`.replaceAll(/\W+/g, "-"))
  rmSync(directory, { recursive: true, force: true })
  mkdirSync(directory, { recursive: true })
  await bundle(files, directory)
  const report = join(directory, "report.json")
  const programs = files.map((file) => join(directory, `${basename(file)}.test.js`))
  const [command, args] = emulatedNode(architecture)
  const child = spawn(command, [...args, join(directory, "main.js"), report, ...programs], {
    cwd: root,
    env: { ...process.env, ...environment, ...(only ? { ONLY: only } : {}) },
    stdio: ["ignore", "inherit", "inherit"],
  })
  const timer = setTimeout(() => child.kill("SIGKILL"), LIMIT_MS)
  const ended = await once(child, "exit")
  clearTimeout(timer)

  describe(name, () => {
    test("the run ends by itself, without errors outside of tests", () => {
      expect(ended).toEqual([0, null])
      expect(JSON.parse(readFileSync(report, "utf8")).errors).toEqual([])
    })
    const { tests }: Report = existsSync(report)
      ? JSON.parse(readFileSync(report, "utf8"))
      : { tests: [] }
    for (const { name, state, errors } of tests) {
      if (only && state === "skip") continue
      test(name, () => {
        expect(errors).toEqual([])
        expect(state).toBe("pass")
      })
    }
  })
}

/** Bundles files of tests and what runs them, since Node 20.11 has no hooks for imports. */
async function bundle(files: readonly string[], directory: string): Promise<void> {
  const paths = files.map((file) => join(root, `test/${file}.test.ts`))
  await build({
    ...{ absWorkingDir: root, entryPoints: [join(runner, "main.ts"), ...paths] },
    ...{ outdir: directory, entryNames: "[name]", bundle: true, splitting: true },
    ...{ platform: "node", format: "esm", target: "node20", logLevel: "warning" },
    alias: { vitest: join(runner, "vitest.ts") },
    external: ["zeromq"],
    // package.json says of all files that imports alone have no effect; the runner sets the seed by one.
    ignoreAnnotations: true,
    // Where npm puts vitest's own packages if others need other versions of them.
    nodePaths: [join(root, "node_modules/vitest/node_modules")],
    plugins: [asInTheRepository],
  })
}

/** Modules find files beside their sources, and get the package as it is in dist/. */
const asInTheRepository: Plugin = {
  name: "as-in-the-repository",
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /^(curve|zstd)-wasm$/ }, ({ path }) => ({
      path: join(root, "dist", carriedFile(path)),
    }))
    onResolve({ filter: /^zeromq-lz4/ }, ({ path }) => {
      const entry = entries.find(({ name }) => name === path)
      return entry && { path: join(root, `dist/${entry.module}.mjs`), external: true }
    })
    onLoad({ filter: /\/(test|bench)\/.*\.(ts|mjs)$/ }, ({ path }) => ({
      contents: readFileSync(path, "utf8").replaceAll(
        "import.meta.url",
        JSON.stringify(pathToFileURL(path).href),
      ),
      loader: path.endsWith("ts") ? "ts" : "js",
    }))
    onLoad({ filter: /\.wasm$/ }, ({ path }) => ({
      contents: readFileSync(path),
      loader: "binary",
    }))
  },
}
