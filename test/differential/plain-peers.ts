/**
 * Sockets of this package that meet plain ones: those of one side of each connection have
 * `lz4+tcp://` endpoints with `acceptPlain`, those of the other are libzmq's.
 */
import type { Socket } from "zeromq"

/** The side that is this package's. */
export type Side = "binds" | "connects"

type Call = (address: string, ...more: unknown[]) => unknown
type Endpoints = Record<
  "bind" | "bindSync" | "unbind" | "unbindSync" | "connect" | "disconnect",
  Call
>

const bare = (address: unknown) =>
  typeof address === "string" ? address.replace(/^(lz4\+)?tcp:\/\//, "") : address
/** As libzmq knows it. */
const nameOf = (address: unknown) => String(bare(address)).replace("localhost", "127.0.0.1")

/** Scenarios that cannot be the same, or are no test of plain peers. */
const LEFT_OUT: Record<Side, readonly string[]> = {
  // libzmq's client takes no ERROR but that of its own server, whose name begins with "^".
  binds: ["PLAIN with a handler that says 400", "PLAIN with a handler that says 500"],
  connects: [
    // A socket of both kinds takes turns between all of libzmq's peers and each of its own.
    "several endpoints on one socket, bound and connected",
    // libzmq, which has nobody to ask, may keep the connection.
    "PLAIN without a handler lets nobody in",
  ],
}
const LEFT_OUT_OF_BOTH = [
  // libzmq waits for our version before it sends its mechanism, and has closed by then.
  "PLAIN against NULL: mechanisms that differ",
  // The scheme decides what is wrong with the call.
  "STREAM with a scheme that it does not have",
  "options with an endpoint of libzmq's",
]

export function isLeftOut(name: string, side: Side | undefined): boolean {
  return side !== undefined && [...LEFT_OUT_OF_BOTH, ...LEFT_OUT[side]].includes(name)
}

/** The same classes, whose sockets choose the scheme of each of their endpoints by its side. */
export function meetingPlain<Classes extends object>(classes: Classes, side: Side): Classes {
  const made = Object.entries(classes).map(([name, value]) => [
    name,
    name !== "Socket" && isSocketClass(value) ? choosing(value, side) : value,
  ])
  return Object.fromEntries(made)
}

function isSocketClass(value: unknown): value is new (options?: object) => Socket {
  return typeof value === "function" && typeof value.prototype?.bindSync === "function"
}

function choosing(Base: new (options?: object) => Socket, side: Side) {
  const base = Base.prototype as Endpoints
  class Choosing extends Base {}
  /** What each has bound or connected, without the schemes. */
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
  // Where "*" was bound, the name is that of an endpoint that nobody has connected to.
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
