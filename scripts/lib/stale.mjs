/**
 * Finds outputs that are older than their sources. Every build step writes a stamp file with the
 * time of the step's start, so that sources that change during the step count as newer.
 */
import { mkdirSync, utimesSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { entries } from "./entries.mjs"
import { changed, lastChanged } from "./files.mjs"
import * as paths from "./paths.mjs"
import { NATIVE, RECIPE } from "./wasm-sources.mjs"

const at = (/** @type {string} */ path) => join(paths.root, path)

const steps = {
  wasm: {
    stamp: join(paths.build, "wasm.stamp"),
    outputs: [
      "build/zeromq-lz4.wasm",
      "build/zeromq-lz4-small-blocks.wasm",
      "build/zstd.wasm",
      "build/curve.wasm",
    ],
    // Tests and fuzz targets are native programs.
    sources: () =>
      Math.max(
        lastChanged(paths.wasm, (name) => !NATIVE.includes(name) && !name.endsWith(".md")),
        ...[...RECIPE, "package-lock.json"].map((path) => lastChanged(at(path))),
      ),
  },
  js: {
    stamp: join(paths.build, "js.stamp"),
    outputs: [
      ...entries.flatMap(({ module }) =>
        ["js", "cjs", "mjs", "d.ts"].map((extension) => `dist/${module}.${extension}`),
      ),
      "dist/inspector.html",
      "dist/zeromq-lz4.wasm",
      "dist/zstd.wasm",
    ],
    sources: () =>
      Math.max(
        ...[
          "src",
          "types",
          "scripts/build.mjs",
          "scripts/lib/declarations.mjs",
          "scripts/lib/for-in.mjs",
          "scripts/lib/common-js.mjs",
          "scripts/lib/carried-wasm.mjs",
          "scripts/lib/inspector-page.mjs",
          "scripts/lib/thread-worker.mjs",
          "tsconfig.json",
          "tsconfig.build.json",
        ].map((path) => lastChanged(at(path))),
        lastChanged(steps.wasm.stamp),
      ),
  },
}

/** @param {keyof typeof steps} name */
export function isStale(name) {
  const { stamp, outputs, sources } = steps[name]
  const built = changed(stamp)
  return !built || outputs.some((path) => !changed(at(path))) || sources() > built
}

/** Runs a step, and writes its stamp if the step did not throw. @param {keyof typeof steps} name @param {() => void | Promise<void>} work */
export async function buildStep(name, work) {
  const start = new Date()
  await work()
  const { stamp } = steps[name]
  mkdirSync(dirname(stamp), { recursive: true })
  writeFileSync(stamp, "")
  utimesSync(stamp, start, start)
}

/** Returns whether node_modules does not match package-lock.json. */
export function modulesAreStale() {
  const installed = changed(at("node_modules/.package-lock.json"))
  const wanted = changed(at("package-lock.json")) ?? 0
  // `npm install` writes package-lock.json shortly after the packages.
  return !installed || wanted > installed + 2000
}
