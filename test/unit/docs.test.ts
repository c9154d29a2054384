/** References in README.md and the other documents. */
import { existsSync, readdirSync, readFileSync } from "node:fs"
import { basename, dirname, join } from "node:path"
import { fileURLToPath } from "node:url"
import { describe, expect, test } from "vitest"

const root = fileURLToPath(new URL("../../", import.meta.url))
const read = (file: string): string => readFileSync(join(root, file), "utf8")
const markdownIn = (directory: string): string[] =>
  readdirSync(join(root, directory))
    .filter((file) => file.endsWith(".md"))
    .map((file) => join(directory, file))

const examples = readdirSync(join(root, "examples"), { withFileTypes: true })
  .filter((entry) => entry.isDirectory())
  .map(({ name }) => `examples/${name}`)
const documents = [
  ...["", "docs", "bench", "src", "wasm", "test/recorded", "examples"],
  ...examples,
].flatMap(markdownIn)

/** Returns the anchors of a document's headings, as on GitHub: those of equal headings have a number. */
function anchors(text: string): string[] {
  const seen = new Map<string, number>()
  return [...text.matchAll(/^#+ (.*)$/gm)].map(([, heading]) => {
    const anchor = heading!
      .toLowerCase()
      .replace(/[^\p{L}\p{N} _-]/gu, "")
      .replaceAll(" ", "-")
    const count = seen.get(anchor) ?? 0
    seen.set(anchor, count + 1)
    return count > 0 ? `${anchor}-${count}` : anchor
  })
}

/** Returns the links and images of a document that are files. */
const linksIn = (file: string): string[] =>
  [...read(file).matchAll(/(?:\]\(|\bsrc(?:set)?=")((?!\w+:)[^)\s"]+)[)"]/g)].map(
    ([, link]) => link!,
  )

describe.each(documents)("%s", (file) => {
  const links = linksIn(file)

  test("links to existing targets", () => {
    for (const link of links) {
      const [path = "", anchor] = link.split("#")
      const target = path === "" ? file : join(dirname(file), path)
      expect(existsSync(join(root, target)), link).toBe(true)
      if (anchor !== undefined) expect(anchors(read(target)), link).toContain(anchor)
    }
  })
})

test("documents in the package only link to files in the package", () => {
  const { files } = JSON.parse(read("package.json")) as { files: string[] }
  const inPackage = documents.filter((file) => file === "README.md" || isPacked(file, files))
  for (const file of inPackage)
    for (const link of linksIn(file)) {
      const [path = ""] = link.split("#")
      const target = path === "" ? file : join(dirname(file), path)
      expect(target === "README.md" || isPacked(target, files), `${file}: ${link}`).toBe(true)
    }
})

const isPacked = (file: string, packed: readonly string[]) =>
  packed.some((one) => file === one || file.startsWith(`${one}/`))

test.each([...documents, "package.json"])("%s names no repository that is not ours", (file) => {
  const { homepage } = JSON.parse(read("package.json")) as { homepage?: string }
  const home = homepage?.replace(/#.*/, "")
  const addresses = [
    ...read(file).matchAll(/https:\/\/(?!www\.npmjs)[\w.-]+\/[\w.-]+\/zeromq-lz4\b/g),
  ]
  for (const [address] of addresses) expect(address).toBe(home)
})

test("docs/README.md lists every document", () => {
  const listed = [...read("docs/README.md").matchAll(/\| \[(.*?)\]\(/g)].map(([, name]) => name)
  const others = markdownIn("docs")
    .map((file) => basename(file))
    .filter((file) => file !== "README.md")
  expect(listed.sort()).toEqual(others.sort())
})

test("each row of src/README.md names files that exist, and constants that are in them", () => {
  const rows = read("src/README.md").match(/^\| (?!\*\*|Where).*$/gm) ?? []
  for (const row of rows) {
    const files = [...row.matchAll(/`([\w./-]+\.(?:[ch]|ts|html|css)|[\w/-]+\/)`/g)].map(
      ([, file]) => join("src", file!),
    )
    expect(files, row).not.toEqual([])
    for (const file of files) expect(existsSync(join(root, file)), `${row}: ${file}`).toBe(true)
    const sources = files.filter((file) => !file.endsWith("/")).map(read)
    for (const [, name] of row.matchAll(/`([A-Z][A-Z\d]*_[A-Z_\d]+)`/g))
      expect(
        sources.some((source) => source.includes(name!)),
        `${row}: ${name}`,
      ).toBe(true)
  }
})

test("README.md is no longer than 14 KB", () => {
  expect(Buffer.byteLength(read("README.md"))).toBeLessThanOrEqual(14_000)
})

test.each([
  ["REFUSED", "README.md", /\*\*TCP options that Node cannot set\*\*.*?:(.*?)\. Others/s],
  ["RECENT", "docs/moving-over.md", /## TCP options\n.*?:(.*?)\.\n/s],
] as const)("the TCP options that are %s are exactly those that %s lists", (group, file, list) => {
  const source = read("src/sockets/socket-options.ts")
  const [, table = ""] = new RegExp(`const ${group} = \\{\\n(.*?)\\n\\}`, "s").exec(source) ?? []
  const refused = [...table.matchAll(/(\w+): (?:-?\d|null)/g)].map(([, name]) => name)
  const [, item = ""] = list.exec(read(file)) ?? []
  const named = [...item.matchAll(/`(\w+)`/g)].map(([, name]) => name)
  expect(refused.length).toBeGreaterThan(0)
  expect(named).toEqual(refused)
})

test("README.md has the same limits as the source", () => {
  const numberIn = (file: string, name: string): number =>
    Number(
      new RegExp(`\\b${name} = ([\\d_]+)`).exec(read(file))?.[1]?.replaceAll("_", "") ?? Number.NaN,
    )
  const text = read("README.md").replaceAll(",", "")
  expect(text).toContain(`a message may have ${numberIn("src/codec/frames.ts", "PARTS_MAX")} parts`)
  const halfOpen = numberIn("src/transport/listener.ts", "HALF_OPEN_MAX")
  expect(text).toMatch(new RegExp(`\\b${halfOpen} connections in\\s+their handshake`))
})

test("CHANGELOG.md has the version of the package, with its date", () => {
  const { version } = JSON.parse(read("package.json")) as { version: string }
  const lock = JSON.parse(read("package-lock.json"))
  expect([lock.version, lock.packages[""].version]).toEqual([version, version])
  const [, newest, date] = /^## \[(\d[\d.]*)\] - (\S+)$/m.exec(read("CHANGELOG.md")) ?? []
  expect(newest).toBe(version)
  expect(date).toMatch(/^\d{4}-\d\d-\d\d$/)
})
