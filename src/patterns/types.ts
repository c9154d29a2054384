import type { SocketTypeName } from "../zmtp/socket-types.js"
import { Client } from "./client.js"
import { Dealer } from "./dealer.js"
import { Dish } from "./dish.js"
import { Gather } from "./gather.js"
import { Pair } from "./pair.js"
import { Pub } from "./pub.js"
import { Pull } from "./pull.js"
import { Push } from "./push.js"
import { Radio } from "./radio.js"
import { Rep } from "./rep.js"
import { Req } from "./req.js"
import { Router } from "./router.js"
import { Scatter } from "./scatter.js"
import { Server } from "./server.js"
import type { SocketType, SocketTypeEvents, TypeOptions } from "./socket-type.js"
import { Sub } from "./sub.js"
import { XPub } from "./xpub.js"
import { XSub } from "./xsub.js"

type Type = new (events: SocketTypeEvents, options: TypeOptions) => SocketType

/** The classes of all socket types. */
export const SOCKET_TYPES: Readonly<Record<SocketTypeName, Type>> = {
  PAIR: Pair,
  PUB: Pub,
  SUB: Sub,
  REQ: Req,
  REP: Rep,
  DEALER: Dealer,
  ROUTER: Router,
  PULL: Pull,
  PUSH: Push,
  XPUB: XPub,
  XSUB: XSub,
  SERVER: Server,
  CLIENT: Client,
  RADIO: Radio,
  DISH: Dish,
  GATHER: Gather,
  SCATTER: Scatter,
}

/** The socket types that only send or only receive. */
export const ONE_WAY: ReadonlySet<SocketTypeName> = new Set<SocketTypeName>([
  "PUB",
  "SUB",
  "PULL",
  "PUSH",
  "RADIO",
  "DISH",
  "GATHER",
  "SCATTER",
])
