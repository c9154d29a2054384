import { closeSync, existsSync, fchmodSync, openSync, rmSync, writeSync } from "node:fs"
import { printableJson } from "../capture/printable.js"
import { formatKey } from "../curve/keys.js"
import { newKeyPair } from "../curve/random.js"
import { type Command, command } from "./command.js"
import { loadCurve, PUBLIC_KEY, SECRET_KEY } from "./curve-keys.js"
import { fileError, InputError, UsageError } from "./errors.js"
import { printResult } from "./output.js"

export const keygen: Command = command({
  synopsis: "keygen [options]",
  summary: "make a pair of keys for CURVE",
  about: `Makes a pair of keys for CURVE, ZeroMQ's encryption. They are text of 40 characters (Z85), for the
options of every ZeroMQ library and for zeromq-lz4 bridge. The public key is for peers. Whoever has
the secret key can pass for its owner.`,
  options: {
    "-o, --output NAME":
      "writes the files NAME.public and NAME.secret, the second one only for its owner, and prints the public key; otherwise both are printed as variables, for a shell or for a file of the environment",
    "--force": "replaces these files if they exist",
    "--json": "prints a JSON object",
  },
  notes: `  zeromq-lz4 keygen -o server
  # sets CURVE_PUBLIC_KEY and CURVE_SECRET_KEY in a shell, and for what it starts
  set -a; eval "$(zeromq-lz4 keygen)"; set +a`,
  async run({ output, force = false, json = false }, [extra]) {
    if (extra !== undefined) throw new UsageError(`keygen takes options only; got '${extra}'`)
    if (output === "") throw new UsageError("-o has no NAME")
    if (force && output === undefined) throw new UsageError("--force is for -o NAME")
    await makeKeys(output === "-" ? undefined : output, force, json)
  },
})

/** Permissions before the umask: of the public key for all, of the secret one for its owner. */
const PUBLIC = 0o666
const SECRET = 0o600

async function makeKeys(output: string | undefined, force: boolean, json: boolean): Promise<void> {
  const pair = await newPair()
  if (output === undefined) {
    // Z85 has no quotes and no backslash, so single quotes hold it in a shell and in files of variables.
    await (json
      ? printResult(printableJson(pair))
      : printResult(`${PUBLIC_KEY}='${pair.publicKey}'`, `${SECRET_KEY}='${pair.secretKey}'`))
    return
  }
  const files = { publicKeyFile: `${output}.public`, secretKeyFile: `${output}.secret` }
  if (!force) for (const file of Object.values(files)) if (existsSync(file)) throw exists(file)
  // The secret key first: if that fails, there is no public key that nobody can use.
  writeNew(files.secretKeyFile, SECRET, pair.secretKey, force)
  writeNew(files.publicKeyFile, PUBLIC, pair.publicKey, force)
  const { publicKey } = pair
  await (json
    ? printResult(printableJson({ publicKey, ...files }))
    : printResult(
        `${files.publicKeyFile}: the public key, ${publicKey}`,
        `${files.secretKeyFile}: the secret key`,
      ))
}

async function newPair(): Promise<{ publicKey: string; secretKey: string }> {
  const { curve } = await loadCurve()
  const { publicKey, secretKey } = newKeyPair(curve)
  return { publicKey: formatKey(publicKey), secretKey: formatKey(secretKey) }
}

/** Writes a file that is new, so that nobody has opened it before and no link leads elsewhere. */
function writeNew(file: string, mode: number, key: string, force: boolean): void {
  try {
    if (force) rmSync(file, { force })
    const descriptor = openSync(file, "wx", mode)
    try {
      if (mode === SECRET) fchmodSync(descriptor, mode)
      writeSync(descriptor, `${key}\n`)
    } finally {
      closeSync(descriptor)
    }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EEXIST") throw exists(file)
    throw fileError(file, error, "no such directory")
  }
}

const exists = (file: string): InputError =>
  new InputError(`${file}: exists; --force replaces the files, and then the old keys are lost`)
