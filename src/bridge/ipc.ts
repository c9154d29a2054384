/** Endpoints of the scheme ipc://, which are Unix sockets. */
import { once } from "node:events"
import { lstatSync, statSync, unlinkSync } from "node:fs"
import { connect, type Server } from "node:net"
import { dirname } from "node:path"
import { mistake, zmqError } from "../transport/zmq-error.js"

export const IPC = "ipc://"

/** Maximum length of a path in a sockaddr_un, without the zero byte after it. */
const PATH_MAX_BYTES = process.platform === "linux" ? 107 : 103

/**
 * Returns the path of an endpoint, as node:net takes it: `ipc:///run/x`, or `ipc://@x` for an
 * abstract name, which Linux has.
 *
 * @throws Error with code EINVAL.
 */
export function parseIpc(endpoint: string): string {
  const path = endpoint.slice(IPC.length)
  const bytes = Buffer.byteLength(path)
  const invalid = (wrong: string, meant?: string) => mistake("EINVAL", endpoint, wrong, meant)
  if (path === "" || path === "*" || path === "@")
    throw invalid("has no path", "expected a path, as in ipc:///run/name")
  if (path.includes("\0")) throw invalid("has a zero byte in its path")
  if (bytes > PATH_MAX_BYTES)
    throw invalid(`has a path of ${bytes} bytes; at most ${PATH_MAX_BYTES} are allowed`)
  if (!path.startsWith("@")) return path
  if (process.platform !== "linux") throw invalid("begins with @, which is for Linux only")
  return `\0${path.slice(1)}`
}

/**
 * Starts to listen. First removes a socket file that a process left behind, but, unlike libzmq, not
 * one that a process listens on. Rejects with an error that has a code.
 */
export async function listenIpc(server: Server, path: string, backlog: number): Promise<void> {
  const isFile = !path.startsWith("\0")
  if (isFile) statSync(dirname(path)) // Node reports a missing directory as EACCES
  const file = isFile ? lstatSync(path, { throwIfNoEntry: false }) : undefined
  if (file && !file.isSocket())
    throw zmqError("EADDRINUSE", path, "the path is a file that is not a socket")
  if (file && !(await isListening(path))) unlinkSync(path)
  server.listen({ path, backlog, exclusive: true })
  await once(server, "listening") // or "error", which rejects
  server.on("error", () => {}) // a connection that could not be accepted
}

function isListening(path: string): Promise<boolean> {
  const socket = connect(path)
  return new Promise((resolve) => {
    socket.once("connect", () => {
      socket.destroy()
      resolve(true)
    })
    // With any other error, a process may be listening.
    socket.once("error", ({ code }: NodeJS.ErrnoException) => resolve(code !== "ECONNREFUSED"))
  })
}
