/**
 * Sockets of this package with plain peers: on one side of each connection, sockets have `lz4+tcp://`
 * endpoints with `acceptPlain`; on the other side, they are libzmq's.
 */
import type { Socket } from "zeromq"

/** The side of this package. */
export type Side = "binds" | "connects"

type Call = (address: string, ...more: unknown[]) => unknown
type Endpoints = Record<
  "bind" | "bindSync" | "unbind" | "unbindSync" | "connect" | "disconnect",
  Call
>

const bare = (address: unknown) =>
  typeof address === "string" ? address.replace(/^(lz4\+)?tcp:\/\//, "") : address
/** Returns the name of an endpoint in libzmq. */
const nameOf = (address: unknown) => String(bare(address)).replace("localhost", "127.0.0.1")

/** Scenarios whose results must differ, or that do not test plain peers. */
const LEFT_OUT: Record<Side, readonly string[]> = {
  // libzmq's client only accepts the ERROR of its own server, whose name begins with "^".
  binds: ["PLAIN with a handler that replies 400", "PLAIN with a handler that replies 500"],
  connects: [
    // A mixed socket counts all of libzmq's peers as one when it takes turns.
    "several endpoints on one socket, bound and connected",
    // libzmq may keep the connection if there is no handler.
    "PLAIN without a handler refuses all peers",
  ],
}
const LEFT_OUT_OF_BOTH = [
  // libzmq waits for our version before it sends its mechanism, and has closed by then.
  "PLAIN and NULL peers refuse each other",
  // The error depends on the scheme.
  "STREAM refuses lz4+tcp://",
  "endpoints of libzmq refuse endpoint options",
  // Whether pausing pauses depends on the side that the proxy is on.
  "a paused proxy leaves messages in their queues, and gives senders their turns",
  "over tcp://, a paused proxy leaves messages in their queues, and gives senders their turns",
  "terminate ends a paused proxy that has messages",
  "an XSUB over tcp:// in a paused proxy subscribes at publishers that connect",
]

/** Peers with other mechanisms, which are left out for the same reason. */
const OTHER_MECHANISMS = /^a CURVE (server|client) and (NULL|PLAIN|a PLAIN server), /

export function isLeftOut(name: string, side: Side | undefined): boolean {
  if (side === undefined) return false
  return [...LEFT_OUT_OF_BOTH, ...LEFT_OUT[side]].includes(name) || OTHER_MECHANISMS.test(name)
}

/** Returns the classes, with sockets that choose the scheme of each endpoint by its side. */
export function meetingPlain<Classes extends object>(classes: Classes, side: Side): Classes {
  const made = Object.entries(classes).map(([name, value]) => [
    name,
    name !== "Socket" && isSocketClass(value) ? choosing(value, side) : value,
  ])
  return Object.fromEntries(made)
}

export function isSocketClass(value: unknown): value is new (options?: object) => Socket {
  return typeof value === "function" && typeof value.prototype?.bindSync === "function"
}

function choosing(Base: new (options?: object) => Socket, side: Side) {
  const base = Base.prototype as Endpoints
  class Choosing extends Base {}
  /** The bound and connected endpoints of each socket, without schemes. */
  const sides = new WeakMap<Choosing, Map<unknown, Side>>()
  const note = (socket: Choosing, address: unknown, side: Side) => {
    if (!sides.has(socket)) sides.set(socket, new Map())
    sides.get(socket)?.set(nameOf(address), side)
  }
  const isTcp = (address: unknown) => bare(address) !== address
  const change = (name: keyof Endpoints, mine: (socket: Choosing, address: string) => boolean) =>
    function (this: Choosing, ...args: [address: string, ...unknown[]]) {
      const [address, ...more] = args
      const call = base[name]
      if (!isTcp(address) || args.length > 2) return call.apply(this, args)
      if (!mine(this, address)) return call.call(this, `tcp://${bare(address)}`, ...more)
      const [options = {}] = more
      const ours = `lz4+tcp://${bare(address)}`
      if (name === "bind" || name === "bindSync" || name === "connect")
        return call.call(this, ours, { acceptPlain: true, ...(options as object) })
      return call.call(this, ours, ...more)
    }
  const connecting = (socket: Choosing, address: string) => {
    note(socket, address, "connects")
    return side === "connects"
  }
  // After binding "*", the name is that of an endpoint without connections.
  const known = (socket: Choosing, address: string) =>
    (sides.get(socket)?.get(nameOf(address)) ?? "binds") === side
  const changed = {
    bind: change("bind", () => side === "binds"),
    bindSync: change("bindSync", () => side === "binds"),
    unbind: change("unbind", known),
    unbindSync: change("unbindSync", known),
    connect: change("connect", connecting),
    disconnect: change("disconnect", known),
  }
  for (const [name, value] of Object.entries(changed))
    Object.defineProperty(Choosing.prototype, name, { configurable: true, writable: true, value })
  Object.defineProperty(Choosing, "name", { value: Base.name })
  return Choosing
}
