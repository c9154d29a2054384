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

/** The socket types by libzmq's number (`socket.type`). 11 is STREAM, which does not speak ZMTP. */
export const SOCKET_TYPES: Readonly<Record<number, Type>> = {
  0: Pair,
  1: Pub,
  2: Sub,
  3: Req,
  4: Rep,
  5: Dealer,
  6: Router,
  7: Pull,
  8: Push,
  9: XPub,
  10: XSub,
  12: Server,
  13: Client,
  14: Radio,
  15: Dish,
  16: Gather,
  17: Scatter,
}
