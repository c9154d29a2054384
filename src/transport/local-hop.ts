import { chmodSync, lstatSync, mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"

/** The most bytes of a Unix socket's path that every system takes. */
const PATH_MAX_BYTES = 100

let directory: string | undefined
let count = 0

/**
 * A new path for a Unix socket that only this user can reach, because it is in
 * a directory of this process that nobody else may enter.
 *
 * @throws Error where there are no Unix sockets, or no directory can be made.
 */
export function newLocalPath(): string {
  if (process.platform === "win32")
    throw Object.assign(
      new Error(
        "lz4+tcp:// needs Unix domain sockets that Node and libzmq share; Windows has none",
      ),
      { code: "ENOTSUP" },
    )
  // Who clears up old temporary files may have taken it away, and somebody else its name.
  if (!directory || !isPrivate(directory)) directory = makeDirectory()
  return join(directory, String(count++))
}

function makeDirectory(): string {
  const long = Buffer.byteLength(tmpdir()) + "/zeromq-lz4-XXXXXX/1234567890".length > PATH_MAX_BYTES
  const made = mkdtempSync(join(long ? "/tmp" : tmpdir(), "zeromq-lz4-"))
  chmodSync(made, 0o700) // whatever the umask
  process.on("exit", () => rmSync(made, { recursive: true, force: true }))
  return made
}

function isPrivate(path: string): boolean {
  const stat = lstatSync(path, { throwIfNoEntry: false })
  return (
    stat?.isDirectory() === true && stat.uid === process.geteuid?.() && (stat.mode & 0o77) === 0
  )
}
