/** Files of messages, each preceded by its length as u32 LE, which peers in all languages can read. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"

import { payload } from "../payloads.mjs"

/** @typedef {{ path: string, count: number, bytes: number }} Messages  a file */

/** @type {string | undefined} */
let directory

/** Returns a directory that is deleted when this process ends. */
export function scratch() {
  if (directory) return directory
  const made = mkdtempSync(join(tmpdir(), "zeromq-lz4-bench-"))
  process.on("exit", () => rmSync(made, { recursive: true, force: true }))
  directory = made
  return made
}

/** @param {string} name @param {readonly Uint8Array[]} messages @returns {Messages} */
export function writeMessages(name, messages) {
  const path = join(scratch(), name.replaceAll(" ", "-"))
  const lengths = messages.map(({ length }) => {
    const bytes = Buffer.alloc(4)
    bytes.writeUInt32LE(length)
    return bytes
  })
  writeFileSync(path, Buffer.concat(messages.flatMap((message, i) => [lengths[i], message])))
  const bytes = messages.reduce((sum, { length }) => sum + length, 0)
  return { path, count: messages.length, bytes }
}

/** @type {Map<string, Uint8Array[]>} */
const read = new Map()

/** @param {string} path @returns {readonly Uint8Array[]} */
export function readMessages(path) {
  const before = read.get(path)
  if (before) return before
  const file = readFileSync(path)
  const messages = []
  for (let at = 0; at < file.length; ) {
    const end = at + 4 + file.readUInt32LE(at)
    messages.push(file.subarray(at + 4, end))
    at = end
  }
  read.set(path, messages)
  return messages
}

/** Total size of the payloads: enough to defeat caches, but quick to generate. */
const POOL_BYTES = 2 ** 21

/** @param {import("../payloads.mjs").PayloadKind} kind @param {number} size */
export const payloads = (kind, size) =>
  Array.from({ length: Math.min(1024, Math.max(4, POOL_BYTES / size)) }, (_, seed) =>
    payload(kind, size, seed),
  )

/** @type {Map<string, Messages>} */
const written = new Map()

/** Writes a file of payloads, once. @param {import("../payloads.mjs").PayloadKind} kind @param {number} size */
export function payloadMessages(kind, size) {
  const name = `${kind}-${size}`
  const messages = written.get(name) ?? writeMessages(name, payloads(kind, size))
  written.set(name, messages)
  return messages
}
