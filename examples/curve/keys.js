import { readFileSync, statSync } from "node:fs"

export const clientList = "keys/clients.txt"

export const publicKeyOf = (name) => readFileSync(`keys/${name}.public`, "utf8").trim()

/** Returns a secret key, unless others can read it, too. */
export function secretKeyOf(name) {
  const file = `keys/${name}.secret`
  // Windows has no such modes.
  if (process.platform !== "win32" && statSync(file).mode & 0o077)
    throw new Error(`${file} can be read by others: chmod 600 ${file}`)
  return readFileSync(file, "utf8").trim()
}
