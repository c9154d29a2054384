import { execFileSync } from "node:child_process"
import { cpSync, mkdirSync, mkdtempSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { expect, test } from "vitest"

const root = new URL("../../", import.meta.url).pathname

/** A file for each rule that biome.json sets and in each place where it sets it, and the rule that it breaks. */
const BREAKING: readonly [file: string, code: string, rule: string][] = [
  ["src/cycle/a.ts", 'import { b } from "./b.js"\nexport const a = () => b\n', "noImportCycles"],
  ["src/cycle/b.ts", 'import { a } from "./a.js"\nexport const b = () => a\n', "noImportCycles"],
  ["src/scheme.ts", 'import "fs"\n', "useNodejsImportProtocol"],
  ["src/sockets/timers.ts", "setTimeout(() => {})\n", "noRestrictedGlobals"],
  ["src/sockets/import.ts", 'import "node:timers"\n', "noRestrictedImports"],
  ["src/sockets/tick.ts", "process.nextTick(() => {})\n", "plugin"],
  ["src/cli/timers.ts", "setTimeout(() => {})\n", "noRestrictedGlobals"],
  ["src/cli/import.ts", 'import "node:process"\n', "noRestrictedImports"],
  ["src/cli/tick.ts", "process.nextTick(() => {})\n", "plugin"],
  ["src/base/buffer.ts", "Buffer.alloc(1)\n", "noRestrictedGlobals"],
  ["src/codec/buffer.ts", "Buffer.alloc(1)\n", "noRestrictedGlobals"],
  ["src/codec/clock.ts", "Date.now()\n", "noRestrictedGlobals"],
  ["src/codec/node.ts", 'import "node:fs"\n', "noNodejsModules"],
  ["src/zmtp/greeting.ts", "process.exit()\n", "noRestrictedGlobals"],
  ["src/zmtp/metadata.ts", 'import "node:fs"\n', "noNodejsModules"],
  ["src/zmtp/commands.ts", "Buffer.alloc(1)\n", "noRestrictedGlobals"],
  ["src/zmtp/socket-types.ts", "setTimeout(() => {})\n", "noRestrictedGlobals"],
  ["src/capture/buffer.ts", "Buffer.alloc(1)\n", "noRestrictedGlobals"],
  ["src/capture/node.ts", 'import "node:fs"\n', "noNodejsModules"],
  ["src/inspector/buffer.ts", "Buffer.alloc(1)\n", "noRestrictedGlobals"],
  ["src/inspector/node.ts", 'import "node:fs"\n', "noNodejsModules"],
]

/** Files that break none: the rules have exceptions there. */
const ALLOWED: readonly [file: string, code: string][] = [
  ["src/base/runtime.ts", "setTimeout(() => {})\n"],
  ["src/inspector/timers.ts", "setTimeout(() => {})\n"],
  ["src/cli/date.ts", "Date.now()\n"],
  ["test/timers.ts", "setTimeout(() => {})\n"],
]

function lint(): Map<string, string[]> {
  const directory = mkdtempSync(join(tmpdir(), "lint-"))
  for (const file of ["biome.json", "scripts/lib/runtime.grit"])
    cpSync(join(root, file), join(directory, file))
  for (const [file, code] of [...BREAKING, ...ALLOWED]) {
    mkdirSync(dirname(join(directory, file)), { recursive: true })
    writeFileSync(join(directory, file), code)
  }
  const biome = join(root, "node_modules/.bin/biome")
  const args = ["lint", "--reporter=json", "--max-diagnostics=none", "."]
  let output: string
  try {
    output = execFileSync(biome, args, { cwd: directory, encoding: "utf8", stdio: "pipe" })
  } catch (error) {
    output = (error as { stdout: string }).stdout
  }
  const found = new Map<string, string[]>()
  for (const { category, location } of JSON.parse(output).diagnostics)
    found.set(location.path, [...(found.get(location.path) ?? []), category.split("/").at(-1)])
  return found
}

const found = lint()

test.each(BREAKING)("%s (%j) breaks %s", (file, _, rule) => {
  expect(found.get(file)).toContain(rule)
})

test.each(ALLOWED)("%s (%j) breaks no rule", (file) => {
  expect(found.get(file)).toBeUndefined()
})
