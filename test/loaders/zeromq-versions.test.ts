/** The tarball with earlier versions of zeromq.js. All other tests use the installed one. */
import { copyFileSync, mkdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { afterAll, beforeAll, expect, test } from "vitest"

import { pack, root, run, temporaryDirectory } from "../support/packed.js"

const directory = temporaryDirectory()
const program = "exchanges.mjs"
let tarball: string

beforeAll(() => {
  tarball = pack(directory.path).tarball
})

afterAll(() => directory[Symbol.dispose]())

// Versions 6.0 and 6.1 were built without CURVE.
test.each(["6.0.4", "6.1.2", "6.2.0", "6.3.0", "6.4.2", "6.5.0", "6.6.0", "6.7.0"])(
  "zeromq %s exchanges messages",
  (version) => {
    const at = join(directory.path, version)
    mkdirSync(at)
    writeFileSync(join(at, "package.json"), JSON.stringify({ private: true }))
    copyFileSync(join(root, "test/package/loaders", program), join(at, program))
    run("npm", ["install", "--no-audit", "--no-fund", tarball, `zeromq@${version}`], at)
    expect(run(process.execPath, [program], at).trim()).toBe("all works")
  },
)
