/** Builds users' programs in a project with the package, and runs them where only zeromq is installed. */
import { cpSync, mkdirSync, symlinkSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import * as esbuild from "esbuild"
import webpack from "webpack"

import { pack, root, run } from "./packed.js"

/** Returns the modules installed in test/package/tools/NAME. @param name "jest-29", "jest-30" or "others" */
export const toolsIn = (name: string): string => join(root, "test/package/tools", name)

export interface Project {
  tarball: string
  /** The directory with the package and test/package/loaders. */
  directory: string
  /** The directory for bundles, which has zeromq but not the package. */
  bundles: string
}

/** Packs the package and installs it in a project. */
export function makeProject(directory: string): Project {
  const { tarball } = pack(directory)
  const [project, bundles] = [join(directory, "project"), join(directory, "bundles")]
  cpSync(join(root, "test/package/loaders"), project, { recursive: true })
  cpSync(join(root, "test/package/consumer"), project, { recursive: true })
  writeFileSync(join(project, "package.json"), JSON.stringify({ private: true }))
  run("npm", ["install", "--no-audit", "--no-fund", tarball], project)
  mkdirSync(join(bundles, "node_modules"), { recursive: true })
  for (const at of [project, bundles])
    for (const name of ["zeromq", "@types"])
      symlinkSync(join(root, "node_modules", name), join(at, "node_modules", name))
  return { tarball, directory: project, bundles }
}

export type Format = "esm" | "cjs"

/** Options with which a bundler leaves zeromq out, if it needs any. */
interface Bundle {
  /** A program of test/package/loaders. */
  entry: string
  format: Format
  external: boolean
}

/** Returns the file in the bundles' directory that a bundler writes. */
export const bundleFile = (
  project: Project,
  bundler: string,
  { entry, format, external }: Bundle,
) =>
  join(
    project.bundles,
    `${bundler}-of-${entry}${external ? "" : "-whole"}.${format === "esm" ? "mjs" : "cjs"}`,
  )

/** @param conditions those of package.json's exports; by default esbuild's own, among which is "module". */
export async function bundleWithEsbuild(
  project: Project,
  bundle: Bundle,
  conditions?: string[],
): Promise<string> {
  const outfile = bundleFile(project, `esbuild${conditions?.join("-") ?? ""}`, bundle)
  const { warnings } = await esbuild.build({
    absWorkingDir: project.directory,
    entryPoints: [bundle.entry],
    outfile,
    bundle: true,
    platform: "node",
    format: bundle.format,
    external: bundle.external ? ["zeromq"] : [],
    ...(conditions && { conditions }),
    logLevel: "silent",
  })
  if (warnings[0]) throw new Error(warnings[0].text)
  return outfile
}

export async function bundleWithWebpack(
  project: Project,
  bundle: Bundle & { minimize: boolean },
): Promise<string> {
  const file = bundleFile(project, "webpack", bundle)
  const esm = bundle.format === "esm"
  const stats = await new Promise<webpack.Stats | undefined>((resolve, reject) =>
    webpack(
      {
        context: project.directory,
        mode: "production",
        target: "node",
        entry: `./${bundle.entry}`,
        externals: bundle.external ? { zeromq: `${esm ? "module" : "commonjs"} zeromq` } : {},
        experiments: { outputModule: esm },
        output: {
          path: project.bundles,
          filename: file.slice(project.bundles.length + 1),
          module: esm,
          chunkFormat: esm ? "module" : "commonjs",
        },
        optimization: { minimize: bundle.minimize },
        performance: false,
      },
      (error, result) => (error ? reject(error) : resolve(result)),
    ),
  )
  const { errors = [], warnings = [] } =
    stats?.toJson({ all: false, errors: true, warnings: true }) ?? {}
  const [first] = [...errors, ...warnings]
  if (first) throw new Error(first.message)
  return file
}

/**
 * Runs Jest on a file, with options of its own and an environment if there are any. TypeScript is
 * checked and compiled to CommonJS.
 */
export function runJest(
  project: Project,
  version: "29" | "30",
  file: string,
  flags: string[] = [],
  { more = {}, environment = {} }: { more?: object; environment?: NodeJS.ProcessEnv } = {},
): void {
  const tools = join(toolsIn(`jest-${version}`), "node_modules")
  const config = join(project.directory, `jest-${version}.json`)
  const tsconfig = {
    ...{ target: "es2022", strict: true, esModuleInterop: true, types: ["node"] },
    ...{ module: "commonjs", moduleResolution: "node10", lib: ["ES2022"] },
  }
  const options = {
    rootDir: project.directory,
    testMatch: ["**/*.spec.{ts,mjs,cjs}"],
    transform: { "\\.ts$": [join(tools, "ts-jest"), { tsconfig }] },
    moduleFileExtensions: ["js", "ts", "mjs", "cjs", "json"],
    cacheDirectory: join(project.directory, `.jest-${version}`),
    ...more,
  }
  writeFileSync(config, JSON.stringify(options))
  const jest = [join(tools, "jest/bin/jest.js"), "--config", config, "--runInBand", file]
  run(process.execPath, [...flags, ...jest], project.directory, environment)
}
