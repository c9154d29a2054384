/** Makes the declarations of the package: one file for each entry, with its public types only. */
import { mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { basename, dirname, join } from "node:path"
import { Extractor, ExtractorConfig } from "@microsoft/api-extractor"
import { entries } from "./entries.mjs"
import * as paths from "./paths.mjs"

/** The directory of the declarations that tsc emits, one file for each source. */
const emitted = join(paths.build, "types")

const modules = entries.map(({ module }) => module)
/** Entries in src/ itself, whose declarations only refer to exports.d.ts and are copied. */
const copied = modules.filter((module) => !module.includes("/"))
/** Modules whose declarations are rolled up: exports.ts, and entries that are directories. */
const rolledUp = ["exports", ...modules.filter((module) => module.includes("/"))]

/** Files under dist/. */
export const declarationFiles = [...rolledUp, ...copied].flatMap((module) => [
  `${module}.d.cts`,
  `${module}.d.ts`,
])

/**
 * Rolls up tsc's declarations into dist/. Those of the ES modules re-export those of the CommonJS
 * modules, so that a type is the same whichever way it is imported.
 */
export function rollUpDeclarations() {
  const read = (/** @type {string} */ file) => readFileSync(file, "utf8")
  const write = (/** @type {string} */ file, /** @type {string} */ text) =>
    writeFileSync(join(paths.dist, file), text)
  const rolled = join(paths.build, "rolled.d.ts")
  for (const module of rolledUp) {
    extract(module, { target: rolled })
    mkdirSync(join(paths.dist, dirname(module)), { recursive: true })
    write(`${module}.d.cts`, commonJs(forEs5(withDispose(read(rolled)))))
    write(`${module}.d.ts`, `export * from "./${basename(module)}.cjs"\n`)
  }
  for (const module of copied) {
    const text = commonJs(read(join(emitted, `${module}.d.ts`)))
    write(`${module}.d.cts`, text)
    // `export *` leaves out the default export.
    const hasDefault = /\bdefault\b/.test(text)
    write(`${module}.d.ts`, hasDefault ? text : `export * from "./${module}.cjs"\n`)
  }
}

/**
 * Declares `Symbol.dispose` in place of a reference to the library that has it, which TypeScript before 5.2 does
 * not know. It can be declared again.
 * @param {string} text
 */
const withDispose = (text) =>
  text.replace(
    /\/\/\/ <reference lib="esnext.disposable" \/>\r?\n/,
    `declare global {
    interface SymbolConstructor {
        /** The method that \`using\` calls. */
        readonly dispose: unique symbol;
    }
}
`,
  )

/**
 * Replaces the private names that stand for private members: TypeScript refuses them for the target
 * ES5, the default of its version 5. A private property also keeps other types from matching.
 * @param {string} text
 */
const forEs5 = (text) => text.replaceAll(/^( *)#private;$/gm, '$1private "#private";')

/** Makes declarations import those of CommonJS modules. @param {string} text */
const commonJs = (text) => text.replaceAll(/(from ["']\.\/\w+)\.js(["'])/g, "$1.cjs$2")

/** Lists exports without TSDoc, and types that exports refer to and that are not exported. @returns {string[]} */
export const declarationFaults = () => [
  ...rolledUp.flatMap((module) => extract(module, {})),
  // The types that it refers to can be imported from zeromq-lz4.
  ...copied.flatMap((module) =>
    extract(module, {}).filter(
      (fault) =>
        fault.startsWith(`build/types/${module}.d.ts`) &&
        !fault.includes("Lz4Class") &&
        // The numbers of libzmq.
        !/"(ZMQ|STATE)_/.test(fault),
    ),
  ),
]

/**
 * @param {string} module
 * @param {{ target?: string }} options  the file for the roll-up; without one, only faults are collected
 * @returns {string[]} faults
 */
function extract(module, { target }) {
  const main = join(emitted, `${module}.d.ts`)
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
      // API Extractor only looks for missing TSDoc if it writes a report.
      apiReport: {
        enabled: !target,
        reportFileName: `${module.replace("/", "-")}.api.md`,
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
          `${paths.shown(sourceFilePath ?? module)}:${sourceFileLine}: ${text.split("\n")[0]}`,
        )
    },
  })
  if (errorCount > 0) throw new Error(`the declarations of ${module} cannot be rolled up`)
  return faults
}
