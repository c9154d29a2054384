/**
 * Stores scenarios as JSON, to keep those that failed. A seed is not enough, because its meaning
 * changes with the generator.
 */
import type { Scenario } from "./scenario.js"

interface StoredBytes {
  base64: string
}

export function stringify(scenario: Scenario): string {
  // A replacer is called with the result of Buffer's toJSON(), so it reads the original value from
  // the object.
  const replacer = function (this: Record<string, unknown>, name: string, value: unknown) {
    const given = this[name]
    return Buffer.isBuffer(given) ? { base64: given.toString("base64") } : value
  }
  return `${JSON.stringify(scenario, replacer, 1)}\n`
}

export function parse(text: string): Scenario {
  return JSON.parse(text, (_, value) => {
    const { base64 } = (value ?? {}) as StoredBytes
    return base64 === undefined ? value : Buffer.from(base64, "base64")
  })
}
