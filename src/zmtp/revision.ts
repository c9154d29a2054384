/** The property with which a peer announces the format revision that it reads (RFC.md section 3.9). */
import { TextEncoder } from "../base/text.js"
import { findProperty, latin1, type Property } from "./metadata.js"

const NAME = "X-Lz4-Revision"
const VALUE = /^[1-9][0-9]{0,8}$/

/** Returns the property that announces a revision. */
export function revisionProperty(revision: number): Property {
  return [NAME, new TextEncoder().encode(String(revision))]
}

/** Returns the announced revision; undefined if there is none or it is malformed. */
export function findRevision(properties: Iterable<Property>): number | undefined {
  const value = findProperty(properties, NAME)?.[1]
  const text = value && latin1(value)
  return text && VALUE.test(text) ? Number(text) : undefined
}
