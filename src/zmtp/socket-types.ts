/** The socket types of ZMTP, by the names that READY carries. */
export type SocketTypeName =
  | "PAIR"
  | "PUB"
  | "SUB"
  | "REQ"
  | "REP"
  | "DEALER"
  | "ROUTER"
  | "PULL"
  | "PUSH"
  | "XPUB"
  | "XSUB"
  | "SERVER"
  | "CLIENT"
  | "RADIO"
  | "DISH"
  | "GATHER"
  | "SCATTER"

/** Returns whether a peer's text may name a socket type, also one unknown to this package. */
export const isTypeName = (text: string): boolean => /^[A-Z]{3,7}$/.test(text)

/** The types that each type can connect to (RFC 23; RFC 41, 48 and 51 for the draft types). */
export const PEERS: Readonly<Record<SocketTypeName, readonly SocketTypeName[]>> = {
  PAIR: ["PAIR"],
  PUB: ["SUB", "XSUB"],
  SUB: ["PUB", "XPUB"],
  XPUB: ["SUB", "XSUB"],
  XSUB: ["PUB", "XPUB"],
  REQ: ["REP", "ROUTER"],
  REP: ["REQ", "DEALER"],
  DEALER: ["REP", "DEALER", "ROUTER"],
  ROUTER: ["REQ", "DEALER", "ROUTER"],
  PUSH: ["PULL"],
  PULL: ["PUSH"],
  SERVER: ["CLIENT"],
  CLIENT: ["SERVER"],
  RADIO: ["DISH"],
  DISH: ["RADIO"],
  GATHER: ["SCATTER"],
  SCATTER: ["GATHER"],
}

/** The types that send their routing id to the peer. */
export const IDENTIFIED: ReadonlySet<SocketTypeName> = new Set(["REQ", "DEALER", "ROUTER"])
