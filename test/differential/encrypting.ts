/**
 * Sockets with CURVE, whatever the scenario: those that bind are servers and those that connect clients,
 * or the reverse. A socket that does both has the keys of the endpoint that it makes.
 */
import type { Socket } from "zeromq"
import { CLIENT, SERVER } from "./curve.js"
import { isSocketClass, type Side } from "./plain-peers.js"

/** Scenarios with raw peers, which do not speak CURVE. */
const WITH_RAW_PEERS: readonly string[] = [
  "DISH receives nothing from a group that it has left",
  "RADIO sends a raw peer only the groups that it has joined",
  "a closed socket reports that a peer disconnected before its messages were delivered",
  "PUB drops messages beyond the high-water mark of a subscriber that does not read",
  "XPUB with noDrop refuses messages beyond the high-water mark",
  "ROUTER drops messages beyond the high-water mark of a peer, or refuses them with mandatory",
]
/** The same, for each draft type. */
const READY = /: its READY command, options and properties$/

/** libzmq counts the 33 bytes of a box, and this package what is inside. */
const LIMITS = /^maxMessageSize /

export const isNotEncrypted = (name: string): boolean =>
  WITH_RAW_PEERS.includes(name) || READY.test(name) || LIMITS.test(name)

/** Returns the classes, with sockets that set the keys of each endpoint. */
export function encrypting<Classes extends object>(classes: Classes, server: Side): Classes {
  const made = Object.entries(classes).map(([name, value]) => [
    name,
    name !== "Socket" && name !== "Stream" && isSocketClass(value)
      ? encryptingClass(value, server)
      : value,
  ])
  return Object.fromEntries(made)
}

function encryptingClass(Base: new (options?: object) => Socket, server: Side) {
  const prepare = (socket: Socket, side: Side) => {
    try {
      Object.assign(socket, side === server ? SERVER : CLIENT)
    } catch {
      // It is closed, or binding at the moment: the call that follows says so.
    }
  }
  class Encrypting extends Base {
    override bind(...args: Parameters<Socket["bind"]>) {
      prepare(this, "binds")
      return super.bind(...args)
    }
    override bindSync(...args: Parameters<Socket["bindSync"]>) {
      prepare(this, "binds")
      super.bindSync(...args)
    }
    override connect(...args: Parameters<Socket["connect"]>) {
      prepare(this, "connects")
      super.connect(...args)
    }
  }
  Object.defineProperty(Encrypting, "name", { value: Base.name })
  return Encrypting
}
