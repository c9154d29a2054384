/** Builds the same page for browsers with every tool that users have. */
import { execFileSync } from "node:child_process"
import { cpSync, mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import * as esbuild from "esbuild"
import * as vite from "vite"
import webpack from "webpack"

import { pack, root } from "../support/packed.js"

/** Creates a project with the packed package and the page. */
export function prepareProject(project: string): void {
  const { tarball } = pack(project)
  const installed = installedPackage(project)
  mkdirSync(installed, { recursive: true })
  // Not `npm install`, because a page does not need the peer dependency.
  execFileSync("tar", ["-xzf", tarball, "-C", installed, "--strip-components=1"])
  cpSync(join(root, "test/browser/page"), project, { recursive: true })
  writeFileSync(join(project, "package.json"), JSON.stringify({ private: true, type: "module" }))
}

const installedPackage = (project: string) => join(project, "node_modules/zeromq-lz4")

/** Functions that build the project's site in one of its directories. */
const builders = {
  async "a plain script"(project: string, site: string) {
    const dist = join(installedPackage(project), "dist")
    cpSync(dist, join(site, "zeromq-lz4"), { recursive: true })
    cpSync(join(project, "index.html"), join(site, "index.html"))
    const main = readFileSync(join(project, "main.js"), "utf8")
    const addressed = main.replaceAll(/"zeromq-lz4\/(\w+)"/g, '"./zeromq-lz4/$1/index.js"')
    writeFileSync(join(site, "main.js"), addressed)
  },

  async esbuild(project: string, site: string) {
    cpSync(join(project, "index.html"), join(site, "index.html"))
    await esbuild.build({
      entryPoints: [join(project, "main.js")],
      outdir: site,
      bundle: true,
      minify: true,
      format: "esm",
      logLevel: "error",
    })
  },

  async Vite(project: string, site: string) {
    await vite.build({
      root: project,
      configFile: false,
      logLevel: "warn",
      build: { outDir: site, emptyOutDir: false },
    })
  },

  async webpack(project: string, site: string) {
    cpSync(join(project, "index.html"), join(site, "index.html"))
    const stats = await new Promise<webpack.Stats | undefined>((resolve, reject) =>
      webpack(
        {
          context: project,
          mode: "production",
          entry: "./main.js",
          output: { path: site, filename: "main.js" },
          performance: false,
        },
        (error, result) => (error ? reject(error) : resolve(result)),
      ),
    )
    const { errors = [], warnings = [] } =
      stats?.toJson({ all: false, errors: true, warnings: true }) ?? {}
    const [first] = [...errors, ...warnings]
    if (first) throw new Error(first.message)
  },
}

export type Builder = keyof typeof builders
export const builderNames = Object.keys(builders) as Builder[]

/** Builds the site; the .wasm file is beside its page. Returns its directory. */
export async function buildSite(project: string, name: Builder): Promise<string> {
  const site = join(project, "sites", name)
  mkdirSync(site, { recursive: true })
  await builders[name](project, site)
  cpSync(join(installedPackage(project), "dist/zeromq-lz4.wasm"), join(site, "zeromq-lz4.wasm"))
  return site
}
