/** The property by which a peer says which revision of the format it reads (RFC.md section 3.9). */
import { findProperty, latin1, type Property } from "./metadata.js"

const NAME = "X-Lz4-Revision"
const VALUE = /^[1-9][0-9]{0,8}$/

/** Makes the property that announces a revision. */
export function revisionProperty(revision: number): Property {
  return [NAME, new TextEncoder().encode(String(revision))]
}

/** The revision that metadata announces; undefined if it has none, or a malformed one. */
export function findRevision(properties: Iterable<Property>): number | undefined {
  const value = findProperty(properties, NAME)?.[1]
  const text = value && latin1(value)
  return text && VALUE.test(text) ? Number(text) : undefined
}
