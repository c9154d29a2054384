/** Addresses for scenarios that no other process uses. */
import { once } from "node:events"
import { existsSync } from "node:fs"
import { readFile } from "node:fs/promises"
import { createServer } from "node:net"

/**
 * A loopback address of this process alone, so that no socket of another test gets here, or takes a port
 * that was just found unused. (macOS has only one address without being told.)
 */
export const ownHost =
  process.platform === "darwin"
    ? "127.0.0.1"
    : `127.${[128 + ((process.pid >> 16) & 63), (process.pid >> 8) & 255, process.pid & 255].join(".")}`

/** Ports that no system assigns by itself. */
const PORTS = { from: 10_000, to: 32_768 }

/** Processes begin with different ports, for those that bind to all addresses. */
let next = PORTS.from + ((process.pid * 7919) % (PORTS.to - PORTS.from))

/** Returns a port of `ownHost`, another one each time: libzmq's sockets may use a port after they are closed. */
export async function unusedPort(): Promise<number> {
  for (;;) {
    const port = next
    next = next + 1 < PORTS.to ? next + 1 : PORTS.from
    const server = createServer().listen(port, ownHost)
    try {
      await once(server, "listening")
    } catch {
      continue // A socket that is bound to all addresses has it.
    }
    server.close()
    await once(server, "close")
    return port
  }
}

const OWN_HOST = new RegExp(`${ownHost.replaceAll(".", "\\.")}(?!\\d)`, "g")

/** Replaces the address of this process in a text by the one that all have. */
export const withoutOwnHost = (text: string): string => text.replace(OWN_HOST, "127.0.0.1")

/** The system's table of TCP connections, on Linux. */
const TABLE = "/proc/net/tcp"
const HEX_HOST = Buffer.from(ownHost.split(".").map(Number)).reverse().toString("hex").toUpperCase()
const [LOCAL, REMOTE, QUEUES] = [1, 2, 4]

/** Returns whether a peer has not acknowledged all that was sent to it over a connection of `ownHost`. */
export async function holdsBytes(): Promise<boolean> {
  if (!existsSync(TABLE)) return false
  const rows = (await readFile(TABLE, "latin1")).split("\n").slice(1, -1)
  return rows.some((row) => {
    const columns = row.trim().split(/\s+/)
    const isOwn = [LOCAL, REMOTE].some((column) => columns[column]?.startsWith(HEX_HOST))
    return isOwn && !columns[QUEUES]?.startsWith("00000000:")
  })
}
