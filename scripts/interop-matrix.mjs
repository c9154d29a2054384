/** Writes the matrix of peers, and of the forms exchanged with each in the interop tests, into the docs. */
import { readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { readArgs } from "./lib/args.mjs"
import { filesIn } from "./lib/files.mjs"
import { matrixDirectory } from "./lib/interop.mjs"
import { root } from "./lib/paths.mjs"
import { pinnedVersions } from "./lib/python.mjs"
import { fail } from "./lib/run.mjs"

const DOCUMENT = "docs/differences.md"

const { check } = readArgs(
  `usage: node scripts/interop-matrix.mjs [--check]

Writes into ${DOCUMENT} the forms that the last run of the interop tests saw on the wire. The row of
the pyomq that goes with another Python stays as it is.
  --check   write nothing; fail if it differs`,
  { check: { type: "boolean" } },
)

const MARKED = /(<!-- interop:matrix -->\n)[\s\S]*?(<!-- \/interop:matrix -->)/

/** @param {string[]} sides who sent it @returns {string} */
const cell = ({ length, 0: first }) =>
  length === 2 ? "both" : first === "ours" ? "sent" : first === "theirs" ? "received" : "-"

/** @param {string[]} cells */
const row = (cells) => `| ${cells.join(" | ")} |`

/** @type {{ peer: string, forms: Record<string, string[]> }[]} */
const found = filesIn(matrixDirectory, ".json").map((file) =>
  JSON.parse(readFileSync(file, "utf8")),
)
/** @type {Map<string, typeof found[number]>} */
const byPeer = new Map()
for (const { peer, forms } of found) {
  const known = byPeer.get(peer)?.forms ?? {}
  const all = Object.entries(forms).map(([form, sides]) => {
    return [form, [...new Set([...sides, ...(known[form] ?? [])])].sort()]
  })
  byPeer.set(peer, { peer, forms: Object.fromEntries(all) })
}
const rows = [...byPeer.values()]
const [first] = rows
if (!first) fail("there are no results of the interop tests: npm run test:interop")

const path = join(root, DOCUMENT)
const text = readFileSync(path, "utf8")
if (!MARKED.test(text)) fail(`${DOCUMENT} has no <!-- interop:matrix --> to fill`)

const BOTH = ["ours", "theirs"]
// No test can start this peer; test/recorded/ has some of its traffic.
rows.push({
  peer: "omq-lz4 0.3.4, by hand",
  forms: {
    ...{ plain: BOTH, LZ4B: BOTH, LZ4M: [], "given LZ4D": BOTH },
    ...{ "trained LZ4D": ["theirs"], LZ4A: [] },
  },
})

/** @param {typeof rows[number]} row */
const line = ({ peer, forms }) =>
  row([peer, ...Object.keys(first.forms).map((form) => cell(forms[form] ?? []))])

/** Returns the row that the document has for a peer. @param {string} peer */
const earlier = (peer) => text.split("\n").filter((line) => line.startsWith(`| ${peer} |`))

const table = [
  row(["peer", ...Object.keys(first.forms)]),
  row(["---", ...Object.keys(first.forms).map(() => "---")]),
  ...rows.flatMap((tested) =>
    tested.peer.startsWith("pyomq ")
      ? pinnedVersions("pyomq")
          .map((version) => `pyomq ${version}`)
          .flatMap((peer) => (peer === tested.peer ? line(tested) : earlier(peer)))
      : line(tested),
  ),
].join("\n")

const filled = text.replace(MARKED, (_, begin, end) => `${begin}${table}\n${end}`)
if (filled === text) console.log(`${DOCUMENT} has the matrix of the interop tests`)
else if (check)
  fail(`${DOCUMENT} is out of date: run node scripts/interop-matrix.mjs, which writes\n${table}`)
else writeFileSync(path, filled)
