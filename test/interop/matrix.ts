/**
 * The forms of the format seen on the wire, by peer. Test files write theirs to
 * build/interop-matrix, from which scripts/interop-matrix.mjs generates the table of docs/differences.md.
 */
import { mkdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"

import { matrixDirectory } from "../../scripts/lib/interop.mjs"
import { installedVersion } from "../../scripts/lib/python.mjs"
import { rustPackageVersion } from "../../scripts/lib/rust.mjs"
import { isOnceMore } from "../support/transports.js"
import { FORMS, type Form, type Sent } from "./tap.js"

/** The sender. */
export type Side = "ours" | "theirs"

const VERSIONS = {
  "omq-tokio": rustPackageVersion("omq-tokio"),
  pyomq: installedVersion("pyomq"),
}
export type PeerName = keyof typeof VERSIONS

const seen = new Map<PeerName, Map<Form, Set<Side>>>()

/** Adds the forms that the other side of a connection has decoded. Each scheme has a test file. */
export function record(peer: PeerName, scheme: string, from: Side, sent: Sent): void {
  if (isOnceMore) return // fewer of the same, with threads
  const forms = seen.get(peer) ?? new Map(FORMS.map((form) => [form, new Set<Side>()]))
  seen.set(peer, forms)
  for (const form of sent.forms) forms.get(form)?.add(from)

  const row = {
    peer: `${peer} ${VERSIONS[peer]}`,
    forms: Object.fromEntries([...forms].map(([form, sides]) => [form, [...sides].sort()])),
  }
  mkdirSync(matrixDirectory, { recursive: true })
  writeFileSync(join(matrixDirectory, `${peer} ${scheme}.json`), JSON.stringify(row, null, 2))
}
