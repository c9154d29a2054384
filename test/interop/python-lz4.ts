/** Runs decode_parts.py. */
import { spawnSync } from "node:child_process"
import { fileURLToPath } from "node:url"

import { concat } from "../support/wire.js"
import { python } from "./python.js"

const DECODE_PARTS = fileURLToPath(new URL("decode_parts.py", import.meta.url))

export interface Decoded {
  form: string
  size: number
  sha256: string
}

/** The result of Python's lz4 for the parts of one connection. */
export function decodeInPython(parts: readonly Uint8Array[], blockSize: number): Decoded[] {
  const withLengths = parts.flatMap((part) => {
    const length = new Uint8Array(4)
    new DataView(length.buffer).setUint32(0, part.length, true)
    return [length, part]
  })
  const { status, stdout, stderr } = spawnSync(python(), [DECODE_PARTS, String(blockSize)], {
    input: concat(...withLengths),
    encoding: "utf8",
    maxBuffer: 1 << 26,
  })
  if (status !== 0) throw new Error(`decode_parts.py ended with ${status}: ${stderr}`)
  return stdout
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as Decoded)
}
