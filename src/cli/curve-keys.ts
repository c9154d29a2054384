import { existsSync } from "node:fs"
import type { BridgeCurve } from "../bridge/curve-end.js"
import { counted } from "../capture/reports/report.js"
import { type Curve, curveOf, type KeyPair } from "../curve/curve.js"
import { LIST_MAX_BYTES, parseKeyList, withoutMark } from "../curve/key-list.js"
import { formatKey, KEY_DIGITS, keyInText } from "../curve/keys.js"
import { newKeyPair } from "../curve/random.js"
import { keyLogFile } from "../transport/key-log.js"
import { InputError, orInputError, UsageError } from "./errors.js"
import { readFileStart } from "./input.js"

/** Maximum size of a file with keys that is read. */
const FILE_MAX_BYTES = 4096
/** The names in what `keygen` prints. */
export const PUBLIC_KEY = "CURVE_PUBLIC_KEY"
export const SECRET_KEY = "CURVE_SECRET_KEY"

/** Loads the module of CURVE, which only commands with keys need. */
export async function loadCurve(): Promise<{ module: WebAssembly.Module; curve: Curve }> {
  const { curveModule } = await import("../curve/module.js")
  const module = curveModule()
  return { module, curve: curveOf(module) }
}

export type Side = "from" | "to"

/** The options for CURVE. Their values name files with keys; a server key may be given itself. */
export type CurveValues = {
  [name in `${Side}-curve-server`]?: boolean
} & {
  [name in `${Side}-${"server-key" | "secret-key" | "client-keys"}`]?: string
}

/**
 * Reads the keys of a side; undefined if it is not encrypted.
 *
 * @throws UsageError if the options do not go together. @throws InputError if there is no key in a file
 * or a variable.
 */
export async function readCurve(side: Side, values: CurveValues): Promise<BridgeCurve | undefined> {
  const isServer = values[`${side}-curve-server`] ?? false
  const serverKey = values[`${side}-server-key`]
  const secretKey = values[`${side}-secret-key`]
  const clientKeys = values[`${side}-client-keys`]
  const asServer = `--${side}-curve-server`
  const asClient = `--${side}-server-key`
  const ofSecret = `--${side}-secret-key`
  if (secretKey === "") throw new UsageError(`${ofSecret} has no FILE`)
  if (secretKey !== undefined) checkNotSecret(side, ofSecret, secretKey)
  const ofClients = `--${side}-client-keys`
  if (clientKeys === "") throw new UsageError(`${ofClients} has no FILE`)
  if (clientKeys !== undefined && !isServer)
    throw new UsageError(`${ofClients} is for ${asServer}: a client has one server`)
  if (isServer && serverKey !== undefined)
    throw new UsageError(`${asServer} and ${asClient} exclude each other: one side is the server`)
  if (!isServer && serverKey === undefined) {
    if (secretKey === undefined) return undefined
    throw new UsageError(`${ofSecret} is for ${asServer} or ${asClient} KEY`)
  }
  const secret = readSecret(side, ofSecret, secretKey)
  if (isServer && !secret)
    throw new UsageError(
      `${asServer} needs a secret key: ${ofSecret} FILE, or ${variablesOf(side).join(" or ")} in the environment; zeromq-lz4 keygen makes one`,
    )
  const { module, curve } = await loadCurve()
  const pair: KeyPair = secret
    ? { publicKey: curve.publicKey(secret), secretKey: secret }
    : newKeyPair(curve)
  const keyLog = keyLogFile()
  if (serverKey === undefined) {
    const keys = { module, isServer, ...pair, serverKey: new Uint8Array(0), keyLog }
    if (clientKeys === undefined) return keys
    const accepted = readClientKeys(ofClients, clientKeys)
    return { ...keys, clientKeys: accepted, clientKeysOption: ofClients }
  }
  const theirs = readServerKey(asClient, serverKey)
  if (!curve.sharedKey(theirs, pair.secretKey))
    throw new InputError(`${asClient}: the key is of low order, so it protects nothing`)
  return { module, isServer, ...pair, serverKey: theirs, keyLog }
}

/** Returns the variables that can have a side's secret key. */
const variablesOf = (side: Side): string[] => [`CURVE_${side.toUpperCase()}_SECRET_KEY`, SECRET_KEY]

/**
 * Refuses a secret key in place of a file name: every user of the machine can see a process's arguments.
 * So is a key in quotes, or as `keygen` prints it: the error for a missing file would print it.
 */
function checkNotSecret(side: Side, option: string, value: string): void {
  if (!looksLikeKey(value) || existsSync(value)) return
  throw new UsageError(
    `${option} takes the name of a file: as an argument, everybody on this machine could read the secret key. Put it into a file, or into ${variablesOf(side)[0]} in the environment, and make a new one if it is in use`,
  )
}

/** Returns whether a text is a key, perhaps with quotes or as the value of a variable. */
export function looksLikeKey(text: string): boolean {
  // Z85 has =, too, so what looks like a name before it may be the beginning of the key.
  return [text, text.trim().replace(/^(export\s+)?\w+=/, "")].map(unquoted).some(isKey)
}

function readSecret(side: Side, option: string, file: string | undefined): Uint8Array | undefined {
  if (file !== undefined) return keyOf(`${option} ${file}`, fromFile(file, SECRET_KEY))
  const name = variablesOf(side).find((variable) => process.env[variable])
  return name === undefined ? undefined : keyOf(name, unquoted(process.env[name] as string))
}

function readServerKey(option: string, value: string): Uint8Array {
  if (isKey(value) && !existsSync(value)) return keyOf(option, value)
  if (!existsSync(value))
    throw new UsageError(
      `${option} is neither a key, which has ${KEY_DIGITS} characters, nor a file: ${JSON.stringify(value)}`,
    )
  return keyOf(`${option} ${value}`, fromFile(value, PUBLIC_KEY))
}

function readClientKeys(option: string, file: string): Set<string> {
  const what = `${option} ${file}`
  const text = textOf(file, LIST_MAX_BYTES)
  if (text.length === LIST_MAX_BYTES)
    throw new InputError(
      `${what}: the file is too large; it may have fewer than ${LIST_MAX_BYTES} bytes`,
    )
  return orInputError(() => parseKeyList(what, text))
}

const textOf = (file: string, maxBytes: number): string =>
  withoutMark(readFileStart(file, maxBytes).toString("latin1"))

/** Returns the key in a file: its only text, or the value of a variable among others. */
function fromFile(file: string, variable: string): string {
  const text = textOf(file, FILE_MAX_BYTES)
  const lines = text.split("\n").map((line) => line.trim().replace(/^export\s+/, ""))
  const line = lines.find((each) => each.startsWith(`${variable}=`))
  return unquoted(line === undefined ? text : line.slice(variable.length + 1))
}

/** Removes quotes, which a shell would, but not all readers of files of variables do. */
const unquoted = (text: string): string => text.trim().replace(/^(['"])(.*)\1$/, "$2")

export function isKey(text: string): boolean {
  try {
    return keyOf("", text).length > 0
  } catch {
    return false
  }
}

/** Parses a key. Errors do not quote it. */
const keyOf = (what: string, text: string): Uint8Array => orInputError(() => keyInText(what, text))

/** Describes the keys of a side, in words and as fields of JSON. */
export function describeCurve(
  side: Side,
  { isServer, publicKey, clientKeys }: BridgeCurve,
): { words: string; fields: object } {
  const role = isServer ? "server" : "client"
  const key = formatKey(publicKey)
  const who = clientKeys ? `; it accepts ${counted(clientKeys.size, "client")}` : ""
  return {
    words: `CURVE at --${side}: the bridge is the ${role}, with the public key ${key}${who}`,
    fields: { side, role, publicKey: key, ...(clientKeys && { clients: clientKeys.size }) },
  }
}
