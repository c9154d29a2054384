/**
 * The log of the keys of connections with CURVE, for `zeromq-lz4 inspect --keys`: the file that
 * ZEROMQ_LZ4_KEYLOG names, as SSLKEYLOGFILE names one for TLS. docs/curve.md describes it.
 */
import { appendFileSync } from "node:fs"
import { resolve } from "node:path"
import type { Secured } from "../zmtp/mechanism.js"
import { warn } from "./diagnosis.js"

const VARIABLE = "ZEROMQ_LZ4_KEYLOG"
/** Nobody but the owner of the process may read the keys. */
const MODE = 0o600

/** The file; undefined if there is none, null if this has not been found out. */
let file: string | undefined | null = null

/** Returns the file that keys are written to; undefined if there is none. The first call warns of it. */
export function keyLogFile(): string | undefined {
  if (file === null) file = opened(process.env[VARIABLE])
  return file
}

function opened(name: string | undefined): string | undefined {
  if (!name) return undefined
  const path = resolve(name)
  try {
    appendFileSync(path, "", { mode: MODE })
  } catch (error) {
    warn(`${VARIABLE}: no keys are written: ${(error as Error).message}`)
    return undefined
  }
  const message = `${VARIABLE} is set: whoever can read ${path} can decrypt the connections of this process`
  warn(message, { type: "SecurityWarning", code: VARIABLE })
  return path
}

/** Appends the key of a connection. A disk that is full, for example, does not end the connection. */
export function logKey(file: string, { client, key }: Secured): void {
  try {
    appendFileSync(file, `CURVE ${hex(client)} ${hex(key)}\n`, { mode: MODE })
  } catch {}
}

const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString("hex")
