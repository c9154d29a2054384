/** Tests draw with fixed seeds (test/support/seed.ts), so that they give the same answer every time. */
import { readdirSync, readFileSync } from "node:fs"
import { join, relative } from "node:path"
import { fileURLToPath } from "node:url"
import { expect, test } from "vitest"
import { root } from "../support/packed.js"

const DRAWS = [
  /\bMath\.random\b/,
  /\b(randomBytes|randomFill|randomFillSync|randomInt|randomUUID|getRandomValues)\(/,
  // A seed that the clock determines.
  /(seed|random)\w*\b.*\b(Date|performance)\.now\b/i,
  // Python, and Rust.
  /\bimport random\b|\bfrom random\b|\burandom\b|\brand::/,
]
const CODE = /\.([cm]?[jt]s|py|rs|sh|html)$/
/** Directories of packages that are installed, or built. */
const OTHERS = ["node_modules", "target"]
const self = fileURLToPath(import.meta.url)

function* filesIn(directory: string): Generator<string> {
  for (const entry of readdirSync(directory, { withFileTypes: true })) {
    const path = join(directory, entry.name)
    if (entry.isDirectory() && !OTHERS.includes(entry.name)) yield* filesIn(path)
    else if (entry.isFile() && CODE.test(entry.name) && path !== self) yield path
  }
}

test.each(["test", "bench/peers"])("nothing in %s draws at random", (directory) => {
  const found: string[] = []
  for (const path of filesIn(join(root, directory)))
    for (const [i, line] of readFileSync(path, "utf8").split("\n").entries())
      if (DRAWS.some((draw) => draw.test(line)))
        found.push(`${relative(root, path)}:${i + 1}: ${line.trim()}`)
  expect(found).toEqual([])
})
