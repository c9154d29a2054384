/**
 * Which forms of the format were seen on the wire between us and whom. What a test file saw
 * goes to build/interop-matrix, from where scripts/interop-matrix.mjs makes README.md's table.
 */
import { mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"

import { matrixDirectory } from "../../scripts/lib/interop.mjs"
import { FORMS, type Form, type Sent } from "./tap.js"

/** Who sends. */
export type Side = "ours" | "theirs"

const VERSIONS = {
  "omq-tokio": { file: "rust-peer/Cargo.lock", pattern: /name = "omq-tokio"\nversion = "(.*)"/ },
  pyomq: { file: "requirements.txt", pattern: /^pyomq==(.*)$/m },
}
export type PeerName = keyof typeof VERSIONS

const seen = new Map<PeerName, Map<Form, Set<Side>>>()

/** Adds what the other side of a connection has read and understood. */
export function record(peer: PeerName, from: Side, sent: Sent): void {
  const forms = seen.get(peer) ?? new Map(FORMS.map((form) => [form, new Set<Side>()]))
  seen.set(peer, forms)
  for (const form of sent.forms) forms.get(form)?.add(from)

  const { file, pattern } = VERSIONS[peer]
  const pins = readFileSync(new URL(file, import.meta.url), "utf8")
  const row = {
    peer: `${peer} ${pattern.exec(pins)?.[1]}`,
    forms: Object.fromEntries([...forms].map(([form, sides]) => [form, [...sides].sort()])),
  }
  mkdirSync(matrixDirectory, { recursive: true })
  writeFileSync(join(matrixDirectory, `${peer}.json`), JSON.stringify(row, null, 2))
}
