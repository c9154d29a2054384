/** The declarations of the package: one file for each entry, with what is public and nothing else. */
import { mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { basename, dirname, join } from "node:path"
import { Extractor, ExtractorConfig } from "@microsoft/api-extractor"
import * as paths from "./paths.mjs"

/** Declarations that tsc emits: a file for each source. */
const emitted = join(paths.build, "types")

/** Declarations that are rolled up. */
const ENTRIES = ["exports", "codec/index", "capture/index"]
/** Declarations that stay as they are, as all that they refer to is in exports.d.ts. */
const COPIED = ["index", "draft"]

/** Files under dist/. */
export const declarationFiles = [...ENTRIES, ...COPIED].flatMap((entry) => [
  `${entry}.d.cts`,
  `${entry}.d.ts`,
])

/**
 * Rolls up what tsc has emitted, into dist/: declarations of the CommonJS modules, and around them those
 * for ES modules, so that a type is the same whichever way it is imported.
 */
export function rollUpDeclarations() {
  const read = (/** @type {string} */ file) => readFileSync(file, "utf8")
  const write = (/** @type {string} */ file, /** @type {string} */ text) =>
    writeFileSync(join(paths.dist, file), text)
  const rolled = join(paths.build, "rolled.d.ts")
  for (const entry of ENTRIES) {
    extract(entry, { target: rolled })
    mkdirSync(join(paths.dist, dirname(entry)), { recursive: true })
    write(`${entry}.d.cts`, commonJs(read(rolled)))
    write(`${entry}.d.ts`, `export * from "./${basename(entry)}.cjs"\n`)
  }
  for (const entry of COPIED) {
    const text = commonJs(read(join(emitted, `${entry}.d.ts`)))
    write(`${entry}.d.cts`, text)
    write(`${entry}.d.ts`, entry === "index" ? text : `export * from "./${entry}.cjs"\n`)
  }
}

/** Declarations that import those of CommonJS. @param {string} text */
const commonJs = (text) => text.replaceAll(/(from ["']\.\/\w+)\.js(["'])/g, "$1.cjs$2")

/** Lists what is public and has no TSDoc, or can be reached and has no name. @returns {string[]} */
export const declarationFaults = () => [
  ...ENTRIES.flatMap((entry) => extract(entry, {})),
  // What it refers to can be imported from the other entry.
  ...extract("draft", {}).filter(
    (fault) => fault.startsWith("build/types/draft.d.ts") && !fault.includes("Lz4Class"),
  ),
]

/**
 * @param {string} entry
 * @param {{ target?: string }} options  where the roll-up goes; without it faults are looked for
 * @returns {string[]} faults
 */
function extract(entry, { target }) {
  const main = join(emitted, `${entry}.d.ts`)
  const reports = join(paths.build, "api")
  mkdirSync(join(reports, "temp"), { recursive: true })
  const config = ExtractorConfig.prepare({
    configObjectFullPath: undefined,
    packageJsonFullPath: join(paths.root, "package.json"),
    configObject: {
      projectFolder: paths.root,
      mainEntryPointFilePath: main,
      compiler: {
        overrideTsconfig: {
          compilerOptions: {
            ...{ target: "es2022", module: "nodenext", moduleResolution: "nodenext" },
            ...{ lib: ["es2022", "esnext.disposable", "dom", "dom.iterable"], types: ["node"] },
            skipLibCheck: true,
          },
          files: [main],
        },
      },
      // Only with a report does it look for what has no TSDoc.
      apiReport: {
        enabled: !target,
        reportFileName: `${entry.replace("/", "-")}.api.md`,
        reportFolder: reports,
        reportTempFolder: join(reports, "temp"),
      },
      docModel: { enabled: false },
      tsdocMetadata: { enabled: false },
      dtsRollup: { enabled: !!target, untrimmedFilePath: target ?? "" },
    },
  })
  /** @type {string[]} */
  const faults = []
  const { errorCount } = Extractor.invoke(config, {
    localBuild: true,
    messageCallback(message) {
      const { messageId, sourceFilePath, sourceFileLine, text } = message
      message.handled = message.logLevel !== "error"
      if (messageId === "ae-undocumented" || messageId === "ae-forgotten-export")
        faults.push(
          `${paths.shown(sourceFilePath ?? entry)}:${sourceFileLine}: ${text.split("\n")[0]}`,
        )
    },
  })
  if (errorCount > 0) throw new Error(`the declarations of ${entry} cannot be rolled up`)
  return faults
}
