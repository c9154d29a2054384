/** Messages of `npm run fuzz` and `test:native` if a compiler lacks its sanitizers. */
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterEach, beforeEach, expect, test } from "vitest"

import { missingSanitizers } from "../../scripts/lib/sanitizers.mjs"

const path = process.env.PATH
let directory: string

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), "zeromq-lz4-"))
  process.env.PATH = directory
})

afterEach(() => {
  process.env.PATH = path
  rmSync(directory, { recursive: true })
})

/** Creates a compiler that does nothing, or fails like a linker without the library. */
function install(compiler: string, links: boolean): void {
  const file = join(directory, compiler)
  writeFileSync(
    file,
    `#!/bin/sh
[ "$1" = -dumpversion ] && echo 19.1.7 && exit 0
exit ${links ? 0 : 1}
`,
  )
  chmodSync(file, 0o755)
}

test("there is no message if it links", () => {
  install("clang", true)
  expect(missingSanitizers("clang", "fuzzer,address,undefined")).toBeUndefined()
})

test("the message has the package of clang's runtime, by clang's version", () => {
  install("clang", false)
  expect(missingSanitizers("clang", "address,undefined")).toBe(
    "clang cannot link its sanitizers (address,undefined): apt-get install libclang-rt-19-dev",
  )
})

test("the message has the compiler if it is missing", () => {
  expect(missingSanitizers("clang", "address")).toContain("apt-get install clang")
  expect(missingSanitizers("gcc", "address")).toContain("apt-get install gcc")
})
