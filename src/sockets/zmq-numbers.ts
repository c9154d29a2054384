/** Numbers of zmq.h, as zeromq.js passes them. */
import type { SocketTypeName } from "../zmtp/socket-types.js"

/** Numbers of options. */
export const OPTION = {
  routingId: 5,
  subscribe: 6,
  unsubscribe: 7,
  linger: 17,
  backlog: 19,
  sendHighWaterMark: 23,
  receiveHighWaterMark: 24,
  receiveTimeout: 27,
  sendTimeout: 28,
  mandatory: 33,
  tcpAcceptFilter: 38,
  xpubVerbose: 40,
  curvePublicKey: 48,
  curveSecretKey: 49,
  curveServerKey: 50,
  probeRouter: 51,
  correlate: 52,
  relaxed: 53,
  conflate: 54,
  handover: 56,
  connectRoutingId: 61,
  noDrop: 69,
  manual: 71,
  welcomeMessage: 72,
  invertMatching: 74,
  xpubVerboser: 78,
} as const

/** Socket types by number (`socket.type`). 11 is STREAM, which does not speak ZMTP. */
export const SOCKET_TYPE_NAMES: Readonly<Record<number, SocketTypeName | undefined>> = {
  0: "PAIR",
  1: "PUB",
  2: "SUB",
  3: "REQ",
  4: "REP",
  5: "DEALER",
  6: "ROUTER",
  7: "PULL",
  8: "PUSH",
  9: "XPUB",
  10: "XSUB",
  12: "SERVER",
  13: "CLIENT",
  14: "RADIO",
  15: "DISH",
  16: "GATHER",
  17: "SCATTER",
}

/** Options that take effect at once; the others apply to later endpoints only. */
export const TAKE_EFFECT_AT_ONCE: ReadonlySet<number> = new Set([
  OPTION.subscribe,
  OPTION.unsubscribe,
  OPTION.linger,
  OPTION.mandatory,
  OPTION.probeRouter,
  OPTION.xpubVerbose,
  OPTION.correlate,
  OPTION.relaxed,
  OPTION.handover,
  OPTION.xpubVerboser,
  OPTION.sendHighWaterMark,
  OPTION.receiveHighWaterMark,
  OPTION.sendTimeout,
  OPTION.receiveTimeout,
])
