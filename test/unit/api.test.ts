/** docs/api.md has all that the package exports, and everything there has a text. */
import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { describe, expect, test } from "vitest"
import { type Comment, publicApi } from "../../scripts/lib/public-api.mjs"
import { root } from "../support/packed.js"

const api = publicApi()
const read = (file: string): string => readFileSync(join(root, file), "utf8")

/** Returns the names in the section of an entry point: in headings, and in the lines that list names. */
function documented(entry: string): string[] {
  const section = read("docs/api.md")
    .split(/^## /m)
    .find((text) => text.startsWith(`\`${entry}\`\n`))
  const listed = section?.match(
    /^(The same as above|Re-exported from zeromq\.js, unchanged): .*$/gm,
  )
  return [
    ...[...section!.matchAll(/^### `(\w+)`$/gm)].map(([, name]) => name!),
    ...[...(listed ?? []).join().matchAll(/`(\w+)`/g)].map(([, name]) => name!),
  ]
}

describe.each(api)("$name", ({ name, text, exports, unchanged }) => {
  test("has a text itself", () => {
    expect(text).not.toBe("")
  })

  test("docs/api.md has each export once: all types, and all values of the module", async () => {
    const names = [...exports.map(({ name }) => name), ...unchanged]
    expect(documented(name).sort()).toEqual(names.sort())
    expect(names).toEqual(expect.arrayContaining(Object.keys(await import(name))))
  })

  test.each(exports)("$name has a text, and so have its members", ({ declarations }) => {
    expect(declarations.length).toBeGreaterThan(0)
    for (const { comment, members, signature } of declarations) {
      expect(comment.text, signature).not.toBe("")
      expect(tagsWithoutText(comment), signature).toEqual([])
      for (const { name, comment } of members) {
        expect(comment.text, name).not.toBe("")
        expect(tagsWithoutText(comment), name).toEqual([])
      }
    }
  })
})

const tagsWithoutText = ({ tags }: Comment) => tags.filter(({ text }) => text.trim() === "")

test("only docs/api.md has blocks of TypeScript, which are declarations", () => {
  const documents = readdirSync(join(root, "docs")).filter((file) => file.endsWith(".md"))
  const withTypeScript = ["README.md", ...documents.map((file) => `docs/${file}`)].filter((file) =>
    /^```ts$/m.test(read(file)),
  )
  expect(withTypeScript).toEqual(["docs/api.md"])
})
