/** Other tools that load the package, besides those in test/package/loaders.test.ts. */
import { execFileSync } from "node:child_process"
import { copyFileSync, cpSync, mkdirSync, writeFileSync } from "node:fs"
import { createRequire } from "node:module"
import { join } from "node:path"
import * as vite from "vite"
import { afterAll, beforeAll, describe, expect, test } from "vitest"

import {
  bundleFile,
  bundleWithEsbuild,
  type Format,
  makeProject,
  type Project,
  runJest,
  toolsIn,
} from "../support/loaders.js"
import { installLocked, root, run, temporaryDirectory } from "../support/packed.js"

const directory = temporaryDirectory()
const programs = ["program.mjs", "program.cjs"]
const others = join(toolsIn("others"), "node_modules")
const requireTool = createRequire(join(others, "any.js"))
let project: Project

beforeAll(() => {
  project = makeProject(directory.path)
  for (const tools of ["jest-29", "jest-30", "others"]) installLocked(toolsIn(tools))
})

afterAll(() => directory[Symbol.dispose]())

/** Returns the output of a bundled program. */
const output = (file: string) => run(process.execPath, [file], project.bundles).trim()

describe("Jest 29, without flags", () => {
  test.each(["typescript.spec.ts", "required.spec.cjs"])("%s", (file) => {
    runJest(project, "29", file)
  })
})

// Jest needs this flag for ES modules.
describe.each(["29", "30"] as const)("Jest %s, with ES modules", (version) => {
  test.each(["imported.spec.mjs", "required.spec.cjs"])("%s", (file) => {
    runJest(project, version, file, ["--experimental-vm-modules"])
  })
})

test("Jest 30 loads the package in jsdom", () => {
  const testEnvironment = join(toolsIn("jest-30"), "node_modules/jest-environment-jsdom")
  runJest(project, "30", "required.spec.cjs", [], { more: { testEnvironment } })
})

test("vitest loads the package", () => {
  const vitest = join(root, "node_modules/vitest/vitest.mjs")
  const options = ["--root", project.directory, "--globals", "--dir", project.directory]
  writeFileSync(
    join(project.directory, "vitest.config.mjs"),
    `export default { test: { include: ["typescript.spec.ts", "imported.spec.mjs"] } }`,
  )
  run(process.execPath, [vitest, "run", ...options], project.directory)
})

describe("rollup", () => {
  describe.each<Format>(["esm", "cjs"])("to %s", (format) => {
    test.each(programs)("a bundle of %s works", async (entry) => {
      const { rollup } = requireTool("rollup")
      const resolve = requireTool("@rollup/plugin-node-resolve").default
      const commonJs = requireTool("@rollup/plugin-commonjs").default
      const file = bundleFile(project, "rollup", { entry, format, external: true })
      const bundle = await rollup({
        input: join(project.directory, entry),
        plugins: [resolve({ preferBuiltins: true }), commonJs()],
        external: ["zeromq"],
        onwarn({ message }: { message: string }) {
          throw new Error(message)
        },
      })
      await bundle.write({ file, format, inlineDynamicImports: true })
      expect(output(file)).toBe("all works")
    })
  })
})

describe("Vite SSR", () => {
  test.each(programs)("a bundle of %s works", async (entry) => {
    const outDir = join(project.bundles, `vite-of-${entry}`)
    await vite.build({
      root: project.directory,
      configFile: false,
      logLevel: "warn",
      ssr: { noExternal: true, external: ["zeromq"] },
      build: {
        ...{ ssr: entry, outDir },
        rollupOptions: { output: { entryFileNames: "main.mjs" } },
      },
    })
    expect(output(join(outDir, "main.mjs"))).toBe("all works")
  })
})

// With conditions of one's own, esbuild does without "module": it takes what Node's `import` gets.
describe.each<Format>(["esm", "cjs"])("esbuild with a condition, to %s", (format) => {
  test.each(programs)("a bundle of %s works", async (entry) => {
    const bundle = { entry, format, external: true }
    expect(output(await bundleWithEsbuild(project, bundle, ["development"]))).toBe("all works")
  })
})

// As Next.js (standalone) and Vercel do it.
test.each(programs)(
  "the files that @vercel/nft finds for %s are all that it needs",
  async (entry) => {
    const { nodeFileTrace } = requireTool("@vercel/nft")
    const base = project.directory
    const { fileList, warnings } = await nodeFileTrace([join(base, entry)], {
      base,
      ignore: "node_modules/zeromq/**",
    })
    expect([...warnings]).toEqual([])
    const traced = join(project.bundles, `traced-${entry}`)
    const files = [...fileList].filter((file) => !file.startsWith("node_modules/zeromq/"))
    for (const file of files.filter((file) => file !== "node_modules/zeromq"))
      cpSync(join(base, file), join(traced, file))
    // Its own modules come before those of the directory above, which has zeromq.
    expect(run(process.execPath, [entry], traced).trim()).toBe("all works")
  },
)

test.each(programs)("a bundle of %s by @vercel/ncc works", (entry) => {
  const at = join(project.bundles, `ncc-of-${entry}`)
  const ncc = join(others, "@vercel/ncc/dist/ncc/cli.js")
  const args = ["build", entry, "--out", at, "--external", "zeromq", "--no-cache", "--quiet"]
  run(process.execPath, [ncc, ...args], project.directory)
  expect(output(join(at, entry.replace("program", "index")))).toBe("all works")
})

test("a single executable works, with zeromq installed next to it", async () => {
  const options = { entry: "program.mjs", format: "cjs", external: true } as const
  const main = await bundleWithEsbuild(project, options)
  const blob = join(project.bundles, "program.blob")
  const config = join(project.bundles, "sea.json")
  writeFileSync(config, JSON.stringify({ main, output: blob, disableExperimentalSEAWarning: true }))
  run(process.execPath, ["--experimental-sea-config", config], project.bundles)
  const executable = join(project.bundles, "program")
  copyFileSync(process.execPath, executable)
  const fuse = "NODE_SEA_FUSE_fce680ab2cc467b6e072b8b5df1996b2"
  const postject = join(others, "postject/dist/cli.js")
  const inject = [postject, executable, "NODE_SEA_BLOB", blob, "--sentinel-fuse", fuse]
  run(process.execPath, inject, project.bundles)
  expect(run(executable, [], "/").trim()).toBe("all works")
})

describe("package managers", () => {
  const yarn4 = ["@yarnpkg/cli-dist/bin/yarn.js"]
  const managers = {
    pnpm: { install: ["pnpm/bin/pnpm.cjs", "install", "--store-dir", "store"], start: [] },
    "Yarn 1": {
      install: ["yarn/bin/yarn.js", "install", "--no-lockfile", "--cache-folder", "cache"],
      start: [],
    },
    "Yarn 4, node-modules": { linker: "node-modules", install: yarn4, start: yarn4 },
    "Yarn 4, Plug'n'Play": { linker: "pnp", install: yarn4, start: yarn4 },
  }

  describe.each(Object.entries(managers))("%s", (name, manager) => {
    const at = join(directory.path, name)
    const node = (...args: string[]) => {
      const [tool, ...rest] = args
      return execFileSync(process.execPath, [join(others, tool!), ...rest], {
        cwd: at,
        encoding: "utf8",
        // With CI set, Yarn refuses to create a lock file.
        env: { ...process.env, CI: "", YARN_ENABLE_TELEMETRY: "0" },
        stdio: ["ignore", "pipe", "pipe"],
      })
    }

    beforeAll(() => {
      mkdirSync(at)
      for (const file of [...programs, "exercise.cjs"])
        copyFileSync(join(project.directory, file), join(at, file))
      const { version } = requireTool(join(root, "node_modules/zeromq/package.json"))
      const dependencies = { "zeromq-lz4": `file:${project.tarball}`, zeromq: version }
      writeFileSync(join(at, "package.json"), JSON.stringify({ private: true, dependencies }))
      if ("linker" in manager) {
        writeFileSync(join(at, "yarn.lock"), "")
        const lines = [
          `nodeLinker: ${manager.linker}`,
          "enableGlobalCache: false",
          "enableImmutableInstalls: false",
        ]
        writeFileSync(join(at, ".yarnrc.yml"), `${lines.join("\n")}\n`)
      }
      node(...manager.install)
    })

    test.each(programs)("%s works", (program) => {
      const printed = manager.start.length
        ? node(...manager.start, "node", program)
        : run(process.execPath, [program], at)
      expect(printed.trim()).toBe("all works")
    })
  })
})
