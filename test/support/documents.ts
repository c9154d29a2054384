/** The code blocks of README.md and docs/, and what turns them into programs. */
import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"

import { root } from "./packed.js"

export interface Block {
  /** Document, heading, and a number if it is not the first block under that heading. */
  name: string
  /** The language after the three backticks; empty if there is none. */
  language: string
  code: string
}

/**
 * Returns the code blocks of README.md and of all documents in docs/. Those of TypeScript are left out: they
 * are declarations, which `npm run check` compares with those in dist/.
 */
export function documentedBlocks(): Block[] {
  const docs = readdirSync(join(root, "docs"))
    .filter((file) => file.endsWith(".md"))
    .map((file) => `docs/${file}`)
  return ["README.md", ...docs.sort()].flatMap((document) =>
    blocksOf(document, readFileSync(join(root, document), "utf8")),
  )
}

function blocksOf(document: string, text: string): Block[] {
  const blocks: Block[] = []
  const counts = new Map<string, number>()
  let heading = ""
  for (const [, title, language, code] of text.matchAll(
    /^#+ ([^\n]*)$|^```([^\n]*)\n(.*?)^```$/gms,
  )) {
    if (title !== undefined) heading = title
    if (code === undefined || language === "ts") continue
    const place = `${document}: ${heading}`
    const count = (counts.get(place) ?? 0) + 1
    counts.set(place, count)
    blocks.push({ name: count > 1 ? `${place} (${count})` : place, language: language!, code })
  }
  return blocks
}

/** Returns what an example says that it prints: the comment behind each console.log. */
export const shownOutput = (code: string): string[] =>
  [...code.matchAll(/console\.log\(.*\) ?\/\/ (.*)$/gm)].map(([, output]) => output!)

/** Turns an ES module into the body of a CommonJS one. */
export function toCommonJs(module: string): string {
  const body = module
    .replaceAll(/^import \{(.*?)\} from (".*?")/gms, (_, names, from) => {
      return `const {${names.replaceAll(" as ", ": ")}} = require(${from})`
    })
    .replaceAll(/^import (?:\* as )?(\w+) from (".*?")/gm, "const $1 = require($2)")
    .replaceAll(/^export /gm, "")
  return `(async () => {\n${body}\n})()`
}

/** Replaces what differs from run to run, and from machine to machine: numbers, addresses, times. */
export const shape = (line: string): string =>
  line.replaceAll(/\b(?:collector|\d)[\d.:T-]*Z?/g, "N").trimEnd()
