/** Writes the address of the public repository into package.json and SECURITY.md. See `--help`. */
import { readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { parseArgs } from "node:util"
import * as paths from "./lib/paths.mjs"
import { fail } from "./lib/run.mjs"

const USAGE = `usage: node scripts/home.mjs https://HOST/ACCOUNT/NAME

Sets repository, homepage and bugs in package.json, and says in SECURITY.md where to report vulnerabilities.`

const { positionals, values } = parseArgs({
  allowPositionals: true,
  options: { help: { type: "boolean" } },
})
if (values.help) {
  console.log(USAGE)
  process.exit(0)
}
const [given = "", ...others] = positionals
const address = given.replace(/\/$|\.git$/, "")
if (!/^https:\/\/[\w.-]+(\/[\w.-]+){2,}$/.test(address) || others.length > 0)
  fail(`${JSON.stringify(positionals.join(" "))} is not the address of a repository\n\n${USAGE}`)

/** @param {string} name @param {(text: string) => string} change */
function rewrite(name, change) {
  const file = join(paths.root, name)
  writeFileSync(file, change(readFileSync(file, "utf8")))
}

rewrite("package.json", (text) => {
  const { type, repository, homepage, bugs, ...rest } = JSON.parse(text)
  const fields = []
  for (const [name, value] of Object.entries(rest)) {
    fields.push([name, value])
    if (name !== "author") continue
    fields.push(["repository", { type: "git", url: `git+${address}.git` }])
    fields.push(["homepage", `${address}#readme`], ["bugs", `${address}/issues`], ["type", type])
  }
  return `${JSON.stringify(Object.fromEntries(fields), null, 2)}\n`
})

rewrite("SECURITY.md", (text) => {
  const marked = /(<!-- home -->\n)[\s\S]*(\n<!-- \/home -->)/
  if (!marked.test(text)) fail("SECURITY.md has no <!-- home --> … <!-- /home --> to fill")
  const content = `Use “Report a vulnerability” at <${address}/security/advisories>, or write to the package's
maintainers, whose e-mail addresses \`npm view zeromq-lz4 maintainers\` prints.`
  return text.replace(marked, (_, open, close) => `${open}\n${content}\n${close}`)
})
