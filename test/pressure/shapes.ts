/** Pairs of socket types: one socket, the hub, and its three to six peers. */

export interface Side {
  type: string
  options?: Record<string, unknown>
  /** Whether the hub drops messages to full pipes; it then sends without a mark. */
  dropsWhenFull?: true
}

export interface Shape {
  hub: Side
  peer: Side
  /** Whether peers send their own messages. */
  toHub: boolean
  /** Messages of the hub: distributed, the same for all, addressed to each, or the peers' own returned. */
  fromHub?: "dealt" | "copied" | "addressed" | "echo"
  /** Number of frames that peers add before a message, and receive before one. */
  before?: string[]
  /** Number of frames that the hub receives before a message. */
  skips?: number
  /** Whether the first of them is the peer's routing id. */
  named?: true
  /** Whether peers wait for each echo. */
  lockstep?: true
  /** Whether senders do not know receivers before these request messages. */
  greets?: true
  /** Whether the hub is a socket for each peer. */
  pairs?: true
  /** Whether its messages always have one part. */
  singlePart?: true
  group?: string
}

const dropless = { noDrop: true }
const mandatory = { mandatory: true }

const published = (type: string, by: string): Shape => ({
  hub: { type },
  peer: { type: by, options: dropless },
  toHub: true,
  greets: true,
})
const publishing = (type: string, to: string): Shape => ({
  hub: { type, options: dropless },
  peer: { type: to },
  toHub: false,
  fromHub: "copied",
  greets: true,
})
const dealers = (type: string, more: Omit<Side, "type"> = {}): Shape => ({
  hub: { type, ...more },
  peer: { type: "Dealer" },
  toHub: true,
})

export const SHAPES: Readonly<Record<string, Shape>> = {
  "n PUSH → PULL": { hub: { type: "Pull" }, peer: { type: "Push" }, toHub: true },
  "PUSH → n PULL": {
    hub: { type: "Push" },
    peer: { type: "Pull" },
    toHub: false,
    fromHub: "dealt",
  },
  "n PUB → SUB": published("Subscriber", "Publisher"),
  "n PUB → XSUB": published("XSubscriber", "Publisher"),
  "n XPUB → SUB": published("Subscriber", "XPublisher"),
  "n XPUB → XSUB": published("XSubscriber", "XPublisher"),
  "PUB → n SUB": publishing("Publisher", "Subscriber"),
  "PUB → n XSUB": publishing("Publisher", "XSubscriber"),
  "XPUB → n SUB": publishing("XPublisher", "Subscriber"),
  "XPUB → n XSUB": publishing("XPublisher", "XSubscriber"),
  "n XSUB → XPUB": {
    hub: { type: "XPublisher" },
    peer: { type: "XSubscriber", dropsWhenFull: true },
    toHub: true,
    greets: true,
  },
  "n DEALER → ROUTER": { ...dealers("Router"), skips: 1, named: true },
  "n DEALER ⇄ ROUTER": {
    ...dealers("Router", { options: mandatory }),
    skips: 1,
    named: true,
    fromHub: "echo",
  },
  "n DEALER ↔ ROUTER": {
    ...dealers("Router", { options: mandatory }),
    skips: 1,
    named: true,
    fromHub: "addressed",
  },
  "ROUTER → n DEALER": {
    ...dealers("Router", { options: mandatory }),
    toHub: false,
    fromHub: "addressed",
  },
  "n DEALER → DEALER": dealers("Dealer"),
  "n DEALER ↔ DEALER": { ...dealers("Dealer"), fromHub: "dealt" },
  "n DEALER ⇄ REP": { ...dealers("Reply", { dropsWhenFull: true }), before: [""], fromHub: "echo" },
  "n ROUTER → DEALER": {
    hub: { type: "Dealer", options: { routingId: "hub" } },
    peer: { type: "Router", options: mandatory },
    toHub: true,
    before: ["hub"],
  },
  "n ROUTER ⇄ ROUTER": {
    hub: { type: "Router", options: { ...mandatory, routingId: "hub" } },
    peer: { type: "Router", options: mandatory },
    toHub: true,
    before: ["hub"],
    skips: 1,
    named: true,
    fromHub: "echo",
  },
  "n REQ ⇄ REP": {
    hub: { type: "Reply" },
    peer: { type: "Request" },
    toHub: true,
    fromHub: "echo",
    lockstep: true,
  },
  "n REQ ⇄ ROUTER": {
    hub: { type: "Router", options: mandatory },
    peer: { type: "Request" },
    toHub: true,
    fromHub: "echo",
    lockstep: true,
    skips: 2,
    named: true,
  },
  "n PAIR ↔ n PAIR": {
    hub: { type: "Pair" },
    peer: { type: "Pair" },
    toHub: true,
    fromHub: "addressed",
    pairs: true,
  },
  "n SCATTER → GATHER": {
    hub: { type: "Gather" },
    peer: { type: "Scatter" },
    toHub: true,
    singlePart: true,
  },
  "n RADIO → DISH": {
    hub: { type: "Dish" },
    peer: { type: "Radio", dropsWhenFull: true },
    toHub: true,
    greets: true,
    singlePart: true,
    group: "group",
  },
  "n CLIENT ⇄ SERVER": {
    hub: { type: "Server" },
    peer: { type: "Client" },
    toHub: true,
    fromHub: "echo",
    singlePart: true,
  },
}
