import { expect } from "vitest"

/** Compares bytes. vitest's own comparison takes seconds for a MiB. */
export function expectSameBytes(actual: Uint8Array | undefined, expected: Uint8Array): void {
  if (!actual) throw new Error("there are no bytes")
  if (Buffer.compare(actual, expected) === 0) return
  const at = actual.findIndex((byte, i) => byte !== expected[i])
  expect.fail(
    `${actual.length} bytes instead of ${expected.length}; the first difference is at byte ${at}`,
  )
}
