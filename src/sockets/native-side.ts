import { setTimeout as sleep } from "node:timers/promises"
import type { Message } from "../patterns/message.js"
import type { Refusal, Routing, SocketType, TypeOptions } from "../patterns/socket-type.js"
import { AllOrNone } from "./all-or-none.js"
import { copyMessage } from "./message.js"
import { type Side, SubscriptionNotices } from "./subscription-notices.js"

/** Milliseconds after which libzmq's receive() ends, as a pending one cannot be cancelled. */
export const NATIVE_RECEIVE_MS = 50

/** The methods of zeromq.js for libzmq's endpoints of a socket. */
export interface NativeSocket {
  readonly readable: boolean
  readonly writable: boolean
  send(message: Message, routing: Routing): Promise<void>
  receive(): Promise<(Buffer | Routing)[]>
}

const NO_ROUTING: Routing = {}

/**
 * libzmq's endpoints of a socket that also has `lz4+tcp://` endpoints. They act as one more pipe,
 * and take turns with the other pipes in sending and receiving.
 */
export class NativeSide {
  readonly #type: SocketType
  readonly #socket: () => NativeSocket | undefined
  readonly #readable: () => void
  readonly #writable: () => void
  /** A message received from libzmq. */
  #received: (Buffer | Routing)[] | undefined
  /** For an XPUB, the merged notices of both sides, and a notice of our side for the program. */
  readonly #notices: SubscriptionNotices | undefined
  #ownNotice: Message | undefined
  readonly #options: TypeOptions
  readonly #allOrNone: AllOrNone
  #receiving = false
  /** Whether a receive() is pending. */
  #wanted = false
  #poll: NodeJS.Timeout | undefined
  /** The side whose turn it is to send, and to receive. */
  #sendTurn: Side = "own"
  #receiveTurn: Side = "own"
  /** For REQ and REP, the side that the current exchange is on. */
  #exchange: Side | undefined
  #routing: Routing | undefined

  constructor(
    type: SocketType,
    options: TypeOptions,
    socket: () => NativeSocket | undefined,
    readable: () => void,
    writable: () => void,
  ) {
    this.#type = type
    this.#options = options
    if (type.name === "XPUB") this.#notices = new SubscriptionNotices(options)
    this.#socket = socket
    this.#readable = readable
    this.#writable = writable
    this.#allOrNone = new AllOrNone(type, (message) => socket()?.send(message, NO_ROUTING))
  }

  /** Sends all queued messages before either side is closed. */
  close(): void {
    this.#allOrNone.close()
  }

  // -- Receiving -------------------------------------------------------------------

  hasIn(): boolean {
    const { name } = this.#type
    if ((name === "REQ" || name === "REP") && this.#exchange === "own") return this.#hasOwn()
    if (name === "REP" && this.#exchange === "native") return false
    return this.#received !== undefined || (this.#exchange === undefined && this.#hasOwn())
  }

  #hasOwn(): boolean {
    // With `manual`, the notice received last matters, so none may be taken before the program asks.
    if (this.#notices && !this.#options.manual)
      while (this.#ownNotice === undefined && this.#type.hasIn()) {
        const message = this.#type.receive() as Message
        if (this.#notices.concern(message, "own")) this.#ownNotice = message
      }
    return this.#ownNotice !== undefined || this.#type.hasIn()
  }

  #receiveOwn(): Message | Refusal {
    const notice = this.#ownNotice
    this.#ownNotice = undefined
    return notice ?? this.#type.receive()
  }

  /** Whether a message can be received, including those that libzmq has not handed over yet. */
  get isReadable(): boolean {
    return this.hasIn() || (this.#exchange !== "own" && (this.#socket()?.readable ?? false))
  }

  receive(): (Buffer | Routing)[] | Refusal {
    const { name } = this.#type
    const own = this.#exchange !== "native" && this.#hasOwn()
    const native = this.#exchange !== "own" || (name !== "REQ" && name !== "REP")
    if (native && this.#received && (!own || this.#receiveTurn === "native")) {
      const message = this.#received
      this.#received = undefined
      this.#receiveTurn = "own"
      if (name === "REQ") this.#exchange = undefined
      else if (name === "REP") this.#exchange = "native"
      return message
    }
    const message = this.#receiveOwn()
    if (typeof message === "string") return message
    this.#receiveTurn = "native"
    if (name === "REQ") this.#exchange = undefined
    else if (name === "REP") this.#exchange = "own"
    this.#routing = this.#type.routing
    return this.#routing === undefined ? message : [...message, this.#routing]
  }

  /** Starts receiving from libzmq if `wanted`, because a receive() is pending. */
  want(wanted: boolean): void {
    this.#wanted = wanted
    if (wanted) this.#listen()
  }

  #listen(): void {
    if (this.#receiving || this.#received !== undefined) return
    if (this.#type.name === "REQ" && this.#exchange !== "native") return
    if (this.#type.name === "REP" && this.#exchange === "native") return
    const socket = this.#socket()
    if (!socket) return
    this.#receiving = true
    receiveFrom(socket).then(
      (message) => {
        this.#receiving = false
        if (this.#notices?.concern(message as Message, "native") === false) {
          if (this.#wanted) this.#listen()
          return
        }
        this.#received = message
        this.#readable()
      },
      () => {
        // The call has timed out.
        this.#receiving = false
        if (this.#wanted) this.#listen()
      },
    )
  }

  // -- Sending ---------------------------------------------------------------------

  hasOut(): boolean {
    const { name } = this.#type
    const native = () => this.#socket()?.writable ?? false
    if (name === "REP") return this.#exchange === "native" ? native() : this.#type.hasOut()
    if (name === "REQ" && this.#exchange !== undefined) return this.#type.hasOut() && native()
    return this.#type.hasOut() || native()
  }

  send(message: Message, routing: Routing): Refusal | Promise<void> | undefined {
    switch (this.#type.name) {
      case "PUB":
      case "XPUB":
        if (this.#options.noDrop || this.#allOrNone.isWaiting)
          return this.#allOrNone.send(copyMessage(message))
        return this.#sendToBoth(message, routing)
      case "XSUB":
      case "RADIO":
        return this.#sendToBoth(message, routing)
      case "ROUTER":
      case "SERVER":
        if (this.#type.knows(message, routing)) return this.#type.send(message, routing)
        return this.#sendNative(message, routing)
      case "REP":
        if (this.#exchange !== "native") {
          const refusal = this.#type.send(message, routing)
          if (refusal === undefined) this.#exchange = undefined
          return refusal
        }
        this.#exchange = undefined
        return this.#sendNative(message, routing)
      default:
        return this.#sendInTurn(message, routing)
    }
  }

  #sendToBoth(message: Message, routing: Routing): Refusal | Promise<void> | undefined {
    const refusal = this.#type.send(message, routing)
    return refusal ?? this.#sendNative(message, routing)
  }

  #sendInTurn(message: Message, routing: Routing): Refusal | Promise<void> | undefined {
    const isRequest = this.#type.name === "REQ"
    const native = this.#socket()?.writable ?? false
    if (native && (this.#sendTurn === "native" || !this.#type.hasOut())) {
      this.#sendTurn = "own"
      if (isRequest) this.#exchange = "native"
      return this.#sendNative(message, routing)
    }
    const refusal = this.#type.send(message, routing)
    if (refusal !== undefined) return refusal
    this.#sendTurn = "native"
    if (isRequest) this.#exchange = "own"
    return undefined
  }

  #sendNative(message: Message, routing: Routing): Promise<void> | undefined {
    // The memory belongs to the program, which may reuse it.
    return this.#socket()?.send(copyMessage(message), routing)
  }

  /** Polls libzmq for room while `wanted`, because libzmq does not report it. */
  wantRoom(wanted: boolean): void {
    clearInterval(this.#poll)
    this.#poll = undefined
    if (wanted)
      this.#poll = setInterval(() => {
        if (this.#socket()?.writable) this.#writable()
      }, 10).unref()
  }
}

/** Receives from libzmq. Rejects after the timeout. */
async function receiveFrom(socket: NativeSocket): Promise<(Buffer | Routing)[]> {
  try {
    return await socket.receive()
  } catch (error) {
    // An earlier receive() of the program, from before there was a socket core, is still pending.
    if ((error as { code?: string }).code === "EBUSY") await sleep(NATIVE_RECEIVE_MS)
    throw error
  }
}
