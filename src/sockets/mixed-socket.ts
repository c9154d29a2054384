import type { Message } from "../patterns/message.js"
import type {
  Refusal,
  Routing,
  SocketType,
  SocketTypeEvents,
  TypeOptions,
} from "../patterns/socket-type.js"
import type { SocketTypeName } from "../zmtp/socket-types.js"
import { AllOrNone } from "./all-or-none.js"
import { copyMessage, type Received, type ReceivedParts, receiveFrom } from "./message.js"
import { NativePipe, type NativeSocket } from "./native-pipe.js"

type Side = "native" | "own"

/** The rules by which a mixed socket chooses a side. */
interface Rules {
  /** The side that a message is sent to. Default: the two in turn, each as often as it has peers. */
  readonly sendsTo?: "both" | "the peer's"
  /** Whether a message that one side refuses, with `noDrop`, must not be sent to the other. */
  readonly allOrNone?: boolean
  /** The operation that begins an exchange. The other one has to follow, on the same side. */
  readonly exchangeBegins?: "send" | "receive"
  /** Whether both sides report the subscriptions of their peers to the program. */
  readonly mergesNotices?: boolean
}

/** The socket types that do more than take turns. */
const RULES: Readonly<Partial<Record<SocketTypeName, Rules>>> = {
  PUB: { sendsTo: "both", allOrNone: true },
  XPUB: { sendsTo: "both", allOrNone: true, mergesNotices: true },
  XSUB: { sendsTo: "both" },
  RADIO: { sendsTo: "both" },
  ROUTER: { sendsTo: "the peer's" },
  SERVER: { sendsTo: "the peer's" },
  REQ: { exchangeBegins: "send" },
  REP: { exchangeBegins: "receive" },
}

/**
 * A socket that has endpoints of libzmq and `lz4+tcp://` endpoints: it chooses the side that a
 * message is sent to or received from.
 *
 * libzmq's side cannot be one of the pipes of our socket type. Pipes carry messages as they are on
 * the wire, but libzmq has already applied the rules of the type: it matches subscriptions itself,
 * adds and removes routing ids and envelopes, pairs requests with replies, and represents many
 * peers. So there are two sockets of one type, and rules for their cooperation.
 *
 * Our transport speaks plain ZMTP, but does not serve the `tcp://` endpoints of such a socket. The gain
 * would be that libzmq is not polled. But this class would still be needed, for `ipc://`, `inproc://`
 * and endpoints opened before the first `lz4+tcp://` one, and what an endpoint can do would depend on
 * the order of calls: only libzmq has `tcpMaxRetransmitTimeout`, `sendBufferSize`, `receiveBufferSize`,
 * `interface` and `socksProxy`, and its threads keep peers alive while the program computes.
 *
 * Nor is the number of libzmq's peers read from its events, to give each peer of a PUSH the same share:
 * a pending receive() of an observer keeps the process alive, and libzmq stops if nobody reads its
 * events.
 */
export class MixedSocket {
  readonly #type: SocketType
  readonly #options: TypeOptions
  readonly #rules: Rules
  readonly native: NativePipe
  readonly #allOrNone: AllOrNone
  /** For an XPUB: the subscriptions of both sides, and a notice of our side that was read ahead. */
  readonly #notices: MixedXpubNotices | undefined
  #ownNotice: ReceivedParts | undefined
  /** The side whose turn it is to send, and the number of messages sent in this turn. */
  #sendTurn: Side
  #sentInTurn = 0
  #receiveTurn: Side = "own"
  /** The side of the current exchange. */
  #exchange: Side | undefined

  /**
   * @param turn the side that the socket had, which gets the first turn to send.
   * @param nativeRequest whether libzmq's side of a REQ has a request without a reply.
   */
  constructor(
    type: SocketType,
    options: TypeOptions,
    socket: NativeSocket,
    events: SocketTypeEvents,
    turn: Side = "own",
    nativeRequest = false,
  ) {
    this.#type = type
    this.#sendTurn = turn
    this.#options = options
    this.#rules = RULES[type.name] ?? {}
    if (this.#rules.mergesNotices) this.#notices = new MixedXpubNotices(options)
    this.native = new NativePipe(socket, {
      readable: () => events.readable(),
      writable: () => events.writable(),
      mayReceive: () => this.#mayReceive("native"),
      accepts: (message) => this.#notices?.isForProgram(message as Message, "native") ?? true,
    })
    this.#allOrNone = new AllOrNone(type, (message) => this.native.write(message, {}))
    this.#exchange = this.#earlierExchange(nativeRequest)
  }

  /** Returns the side of the exchange in progress when the second side was added. */
  #earlierExchange(nativeRequest: boolean): Side | undefined {
    const { exchangeBegins } = this.#rules
    if (exchangeBegins === "receive") {
      if (this.#type.hasOut()) return "own"
      return this.native.hasOut() ? "native" : undefined
    }
    if (exchangeBegins === undefined) return undefined
    // Our side refuses to receive if it has no exchange.
    if (this.#type.hasIn() || this.#type.receive() === "EAGAIN") return "own"
    return nativeRequest ? "native" : undefined
  }

  /** A REQ's call of libzmq, which began before our side existed, has sent (`begins`) or received. */
  nativeExchanged(begins: boolean): void {
    if (begins) this.#exchange = "native"
    else if (this.#exchange === "native") this.#exchange = undefined
  }

  /** Sends all queued messages before either side is closed. */
  close(): void {
    this.#allOrNone.close()
  }

  // -- Receiving -------------------------------------------------------------------

  hasIn(): boolean {
    return (this.#mayReceive("native") && this.native.hasIn()) || this.#hasOwn()
  }

  get isReadable(): boolean {
    return this.#hasOwn() || (this.#mayReceive("native") && this.native.isReadable)
  }

  receive(): ReceivedParts | Refusal {
    const hasNative = this.#mayReceive("native") && this.native.hasIn()
    const side = hasNative && (this.#receiveTurn === "native" || !this.#hasOwn()) ? "native" : "own"
    const message = side === "native" ? (this.native.read() as Received) : this.#receiveOwn()
    if (typeof message === "string") return message
    this.#receiveTurn = side === "native" ? "own" : "native"
    const { exchangeBegins } = this.#rules
    if (exchangeBegins) this.#exchange = exchangeBegins === "receive" ? side : undefined
    // A call that finds a message here does not wait, so libzmq has to be asked now to get its turn.
    if (side === "own" && !this.#options.manual && this.#hasOwn()) this.native.fetch()
    return message
  }

  /** Returns whether the current exchange lets a side receive. */
  #mayReceive(side: Side): boolean {
    const { exchangeBegins } = this.#rules
    if (exchangeBegins === undefined) return true
    return this.#exchange === (exchangeBegins === "send" ? side : undefined)
  }

  #hasOwn(): boolean {
    if (!this.#mayReceive("own")) return false
    // With `manual`, the notice received last matters, so none may be taken before the program asks.
    if (this.#notices && !this.#options.manual)
      while (this.#ownNotice === undefined && this.#type.hasIn()) {
        const message = this.#type.receive() as Message
        if (this.#notices.isForProgram(message, "own")) this.#ownNotice = message
      }
    return this.#ownNotice !== undefined || this.#type.hasIn()
  }

  #receiveOwn(): ReceivedParts | Refusal {
    if (!this.#mayReceive("own"))
      return this.#rules.exchangeBegins === "send" && this.#exchange ? "EAGAIN" : "EFSM"
    const notice = this.#ownNotice
    this.#ownNotice = undefined
    return notice ?? receiveFrom(this.#type)
  }

  // -- Sending ---------------------------------------------------------------------

  hasOut(): boolean {
    const { exchangeBegins } = this.#rules
    if (exchangeBegins === "receive")
      return this.#replySide === "native" ? this.native.hasOut() : this.#type.hasOut()
    if (!this.#mayBegin()) return false
    return this.#type.hasOut() || this.native.hasOut()
  }

  send(message: Message, routing: Routing): Refusal | Promise<void> | undefined {
    const { sendsTo, exchangeBegins, allOrNone } = this.#rules
    if (exchangeBegins === "receive") return this.#reply(message, routing)
    if (!this.#mayBegin()) return "EFSM"
    if (sendsTo === "the peer's")
      return this.#sendTo(this.#type.knows(message, routing) ? "own" : "native", message, routing)
    if (sendsTo !== "both") return this.#sendInTurn(message, routing)
    if (allOrNone && (this.#options.noDrop || this.#allOrNone.isWaiting))
      return this.#allOrNone.send(copyMessage(message))
    return this.#sendTo("own", message, routing) ?? this.#sendTo("native", message, routing)
  }

  /** Returns whether a REQ may send a request. Other types always may. */
  #mayBegin(): boolean {
    return this.#exchange === undefined || this.#options.relaxed
  }

  #sendInTurn(message: Message, routing: Routing): Refusal | Promise<void> | undefined {
    const isNative = this.native.hasOut() && (this.#sendTurn === "native" || !this.#type.hasOut())
    const side = isNative ? "native" : "own"
    const outcome = this.#sendTo(side, message, routing)
    if (typeof outcome === "string") return outcome
    this.#countTurn(side)
    if (this.#rules.exchangeBegins) this.#beginExchange(side)
    return outcome
  }

  /** Counts a message. A turn has one for each peer of the side, or one if libzmq hides its peers. */
  #countTurn(side: Side): void {
    if (side !== this.#sendTurn) this.#sentInTurn = 0
    this.#sendTurn = side
    const { peers } = this.native
    const turns = peers === undefined ? 1 : side === "native" ? peers : this.#type.turns
    if (++this.#sentInTurn < turns) return
    this.#sendTurn = side === "native" ? "own" : "native"
    this.#sentInTurn = 0
  }

  #beginExchange(side: Side): void {
    this.#exchange = side
    // A reply to an earlier request, which the program has given up.
    this.native.read()
    this.native.listen()
  }

  /** The side that a reply is sent to. Without an exchange our side refuses it. */
  get #replySide(): Side {
    if (this.#exchange !== undefined) return this.#exchange === "native" ? "native" : "own"
    // libzmq may have passed a request to a receive() that began before our side existed.
    return !this.native.hasIn() && this.native.hasOut() ? "native" : "own"
  }

  #reply(message: Message, routing: Routing): Refusal | Promise<void> | undefined {
    const outcome = this.#sendTo(this.#replySide, message, routing)
    if (typeof outcome === "string") return outcome
    this.#exchange = undefined
    this.native.listen()
    return outcome
  }

  #sendTo(side: Side, message: Message, routing: Routing): Refusal | Promise<void> | undefined {
    if (side === "own") return this.#type.send(message, routing)
    // The memory belongs to the program, which may reuse it.
    return this.native.write(copyMessage(message), routing)
  }
}

/**
 * The topics that each side of an XPUB has subscribers for. Each side reports the first subscription to
 * a topic, and the last cancellation, of its own peers. The program gets the first and the last of both
 * sides.
 */
class MixedXpubNotices {
  readonly #options: TypeOptions
  readonly #topics = { native: new Set<string>(), own: new Set<string>() }

  constructor(options: TypeOptions) {
    this.#options = options
  }

  /** Returns whether the program is to receive a message of one side. */
  isForProgram(message: Message, side: Side): boolean {
    const { manual, verbosity } = this.#options
    const [first] = message as [Buffer]
    if (manual || message.length > 1 || first.length === 0 || (first[0] as number) > 1) return true
    const topic = first.toString("latin1", 1)
    const isOthers = this.#topics[side === "own" ? "native" : "own"].has(topic)
    if (first[0] === 1) {
      this.#topics[side].add(topic)
      return !isOthers || verbosity !== "none"
    }
    this.#topics[side].delete(topic)
    return !isOthers || verbosity === "allSubsUnsubs"
  }
}
