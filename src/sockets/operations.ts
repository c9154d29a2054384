import { OPERATIONS_MAX } from "../base/limits.js"
import { nextTick, queueMicrotask, setImmediate } from "../base/runtime.js"
import type { Message } from "../patterns/message.js"
import type { Refusal, Routing, SocketType, SocketTypeEvents } from "../patterns/socket-type.js"
import { ONE_WAY, SOCKET_TYPES } from "../patterns/types.js"
import { Deadline } from "../transport/deadline.js"
import { afterPoll, isOutdated } from "../transport/last-poll.js"
import { shorten, zmqError } from "../transport/zmq-error.js"
import type { SocketTypeName } from "../zmtp/socket-types.js"
import type { Hold } from "./event-loop/hold.js"
import { TurnBudget } from "./event-loop/turn.js"
import { HeldSends, type PendingCall, type PendingSend } from "./held-sends.js"
import { copyMessage, type Received, type ReceivedParts, receiveFrom } from "./message.js"
import { busyError, refusalError } from "./mistakes.js"
import type { MixedSocket } from "./mixed-socket.js"
import { NATIVE_RECEIVE_MS } from "./native-pipe.js"
import type { SocketState } from "./state.js"

const RESOLVED = Promise.resolve()

/** The calls of send() and receive() of a socket. One of each may wait. */
export class Operations implements SocketTypeEvents {
  readonly type: SocketType
  /** Takes the place of `type` if the socket has endpoints of libzmq, too. */
  mixed: MixedSocket | undefined
  isClosed = false
  /** The running proxy that uses the socket. It is woken whenever pending calls would be. */
  proxy: { wake(): void } | undefined
  /**
   * Whether the socket both sends and receives. As in libzmq, it then looks for messages before it waits
   * for room, and the reverse: pipes that are found empty or full lose their turn.
   */
  readonly #isTwoWay: boolean
  readonly #state: SocketState
  readonly #hold: Hold
  readonly budget: TurnBudget = new TurnBudget()
  readonly #isConnected: () => boolean
  #sending: PendingSend | undefined
  #receiving: PendingCall<Received> | undefined
  readonly held: HeldSends = new HeldSends(
    (held, leftMs) => this.#makePending(held, leftMs),
    (held) => this.#sendPending(held),
  )

  /** @param isConnected returns whether the socket has any peer. */
  constructor(type: SocketTypeName, state: SocketState, hold: Hold, isConnected: () => boolean) {
    this.#state = state
    this.#hold = hold
    this.#isConnected = isConnected
    this.type = new SOCKET_TYPES[type](this, state.typeOptions)
    this.#isTwoWay = !ONE_WAY.has(type)
  }

  /** Uses libzmq's endpoints as well, also for the calls that wait. */
  mix(mixed: MixedSocket): void {
    this.mixed = mixed
    if (this.#receiving) mixed.native.wantIn(true)
    if (this.#sending) mixed.native.wantOut(true)
  }

  /** Ends the pending calls. As in zeromq.js, they get one last try. */
  endPending(): void {
    if (this.#receiving) this.#finishReceiving()
    if (this.#sending) this.#finishSending()
  }

  /** Ends the pending calls, and accepts no more. Calls `ended` once no message is held any more. */
  close(ended: () => void): void {
    this.isClosed = true
    this.endPending()
    if (this.mixed) this.sendHeld() // libzmq's side is closed next
    this.held.afterAll(() => {
      this.mixed?.close()
      ended()
    })
  }

  /** @throws Error with code EBUSY or EBADF if the socket can neither send nor receive now. */
  checkUsable(): void {
    this.#state.checkFree()
    if (this.isClosed) throw shorten(zmqError("EBADF"), this.checkUsable)
  }

  get isWritable(): boolean {
    if (this.isClosed) return false
    this.type.hasIn()
    return this.hasOut()
  }

  get isReadable(): boolean {
    if (this.isClosed) return false
    this.type.hasOut()
    return this.mixed ? this.mixed.isReadable : this.type.hasIn()
  }

  hasOut(): boolean {
    return (this.mixed ?? this.type).hasOut()
  }

  hasIn(): boolean {
    return (this.mixed ?? this.type).hasIn()
  }

  // -- Events ----------------------------------------------------------------------

  get isBehind(): boolean {
    return this.#receiving?.isBehind ?? false
  }

  readable(): void {
    if (this.#receiving && this.hasIn()) this.#finishReceiving()
    // An option set meanwhile may let it send. As in libzmq, it takes another event to notice.
    else if (this.#sending && !this.#sending.isBehind) this.writable()
    this.proxy?.wake()
  }

  writable(): void {
    if (this.#sending && this.hasOut()) {
      // Who has room may have gone: the rest of what the poll has brought is still to be read.
      if (!this.#mustPoll) this.#finishSending()
      else if (!this.#sending.awaitsPoll) this.#finishAfterPoll(this.#sending)
    }
    this.proxy?.wake()
  }

  #finishAfterPoll(sending: PendingSend): void {
    sending.awaitsPoll = true
    afterPoll(() => {
      sending.awaitsPoll = false
      if (this.#sending === sending) this.writable()
    })
  }

  /**
   * Lets the other pending call go on once the program has, as far as it can at once: as in zeromq.js,
   * that call is pending until then. If it waits for its turn, it keeps it: two loops that woke each
   * other in ticks would leave the event loop none.
   */
  #wake(other: "sending" | "receiving"): void {
    const wake = () => {
      if (other === "sending" && !this.#sending?.isBehind) this.writable()
      if (other === "receiving" && !this.#receiving?.isBehind) this.readable()
    }
    queueMicrotask(() => nextTick(wake)) // a tick runs after all microtasks
  }

  // -- Sending ---------------------------------------------------------------------

  send(
    message: Message,
    routing: Routing,
    timeoutMs: number = this.#state.sendTimeoutMs,
  ): Promise<void> {
    const held = this.held.length
    if (this.#sending || held > OPERATIONS_MAX) throw shorten(busyError("send"), this.send)
    if (held > 0 || this.mustPoll(message, routing))
      return this.#holdSend(message, routing, timeoutMs)
    return timeoutMs === 0
      ? this.#sendAtOnce(message, routing)
      : this.#sendOrWait(message, routing, timeoutMs)
  }

  #sendAtOnce(message: Message, routing: Routing): Promise<void> {
    const outcome = this.trySend(message, routing)
    if (outcome === "EAGAIN" && this.#knowsOldNews) return this.#holdSend(message, routing, 0)
    return this.sent(message, outcome)
  }

  #sendOrWait(message: Message, routing: Routing, timeoutMs: number): Promise<void> {
    if (this.#isTwoWay) this.type.hasIn()
    const asksFirst = !this.type.sendTellsRoom || this.mixed !== undefined || message.length === 0
    if (asksFirst && !this.hasOut()) return this.#waitForRoom(message, routing, timeoutMs)
    if (!this.budget.countOperation()) return this.waitToSend(message, routing, undefined)
    const outcome = this.trySend(message, routing)
    if (outcome === "EAGAIN" && (!asksFirst || this.#knowsOldNews))
      return this.#waitForRoom(message, routing, timeoutMs)
    return this.sent(message, outcome)
  }

  /** Sends a message, or returns why not. libzmq's answer takes a while. */
  trySend(message: Message, routing: Routing): Refusal | Promise<void> | undefined {
    return message.length === 0 ? undefined : (this.mixed ?? this.type).send(message, routing)
  }

  /** Returns what send() returns for a message that was sent or refused, or will be by libzmq. */
  sent(message: Message, outcome: Refusal | Promise<void> | undefined): Promise<void> {
    if (this.#receiving !== undefined) this.readable()
    if (outcome === undefined) return this.budget.turnAfter(message) ?? RESOLVED
    if (typeof outcome === "string") return this.#rejectSoon(this.refused(outcome, this.send))
    return outcome.catch((error) => this.#rejectSoon(error))
  }

  refused(refusal: Refusal, method: (...args: never[]) => unknown): Error {
    return shorten(refusalError(refusal, this.type.name), method)
  }

  /** Rejects, from time to time a turn of the event loop later: programs may try again at once. */
  #rejectSoon(error: Error): Promise<never> {
    if (this.budget.countOperation()) return Promise.reject(error)
    return this.budget.nextTurn().then(() => {
      throw error
    })
  }

  #waitForRoom(message: Message, routing: Routing, timeoutMs: number): Promise<void> {
    return this.#knowsOldNews
      ? this.#holdSend(message, routing, timeoutMs)
      : this.waitToSend(message, routing, timeoutMs)
  }

  /** Waits until there is room, or for a turn of the event loop if `timeoutMs` is undefined. */
  waitToSend(message: Message, routing: Routing, timeoutMs: number | undefined): Promise<void> {
    return new Promise((resolve, reject) => {
      const sending: PendingSend = {
        message: copyMessage(message),
        routing,
        resolve,
        reject,
        limit: undefined,
        isBehind: timeoutMs === undefined,
        awaitsPoll: false,
      }
      this.#setSending(sending, timeoutMs)
    })
  }

  #setSending(sending: PendingSend, timeoutMs: number | undefined): void {
    this.#sending = sending
    this.#beginWait(sending, timeoutMs)
    this.mixed?.native.wantOut(true)
  }

  #finishSending(): void {
    const sending = this.#sending as PendingSend
    this.#sending = undefined
    this.#endWait(sending)
    this.mixed?.native.wantOut(false)
    this.#sendPending(sending)
    if (this.#receiving !== undefined) this.#wake("receiving")
    if (this.held.isDue) this.sendHeld()
  }

  #sendPending(sending: PendingSend): void {
    try {
      const outcome = this.trySend(sending.message, sending.routing)
      if (outcome === undefined) sending.resolve()
      else if (typeof outcome === "string") sending.reject(this.refused(outcome, this.send))
      else outcome.then(sending.resolve, sending.reject)
    } catch (error) {
      sending.reject(error as Error)
    }
  }

  // -- Sending when the event loop has not polled for a while ------------------------

  /** Whether peers may have gone, or read what they were sent, without this side's knowledge. */
  get #knowsOldNews(): boolean {
    return isOutdated() && this.#isConnected()
  }

  /** Whether what becomes of a message would be decided on old news. */
  get #mustPoll(): boolean {
    return (this.mixed !== undefined || this.type.decidesNow) && this.#knowsOldNews
  }

  /** Returns whether to hold a message until the event loop has polled. */
  mustPoll(message: Message, routing: Routing): boolean {
    if (!this.#mustPoll) return false
    if (this.mixed || message.length === 0) return true
    return !this.type.isUpToDate(message, routing)
  }

  /** Holds a message until the event loop has polled. Programs may send more meanwhile. */
  #holdSend(message: Message, routing: Routing, timeoutMs: number): Promise<void> {
    const sent = this.held.add(message, routing, timeoutMs)
    if (!this.#sending) this.held.sendAfterPoll(() => this.sendHeld())
    return sent
  }

  /** Sends the held messages, or makes the first that finds no room the pending one. */
  sendHeld(): void {
    if (this.#sending) return
    if (this.held.length > 0 && this.#receiving !== undefined) this.#wake("receiving")
    this.held.sendAll()
  }

  /** Makes a held message the pending call if there is no room. There seemed to be some before. */
  #makePending(held: PendingSend, timeoutMs: number): boolean {
    if (this.isClosed || this.hasOut()) return false
    if (this.mixed === undefined && this.type.refuses(held.message)) return false
    this.#setSending(held, timeoutMs)
    return true
  }

  /** Calls back once the messages so far have been sent or refused, and their calls have settled. */
  afterSent(callback: () => void): void {
    this.held.afterAll(() => {
      const { turn } = this.budget
      if (turn) void turn.then(callback)
      else callback()
    })
  }

  // -- Receiving -------------------------------------------------------------------

  receive(timeoutMs: number = this.#state.receiveTimeoutMs): Promise<Received> {
    if (this.#receiving) throw shorten(busyError("receive"), this.receive)
    if (timeoutMs === 0) {
      if (!this.hasIn() && (this.held.length > 0 || this.#knowsOldNews))
        return this.#waitToReceive(0)
      return this.#receiveAtOnce()
    }
    if (this.#isTwoWay) this.type.hasOut()
    if (!this.hasIn()) return this.#waitToReceive(timeoutMs)
    return this.budget.countOperation() ? this.#receiveAtOnce() : this.#waitToReceive(undefined)
  }

  #receiveAtOnce(): Promise<Received> {
    const message = this.tryReceive()
    if (typeof message === "string") {
      // libzmq has a message, which it gives to a pending call only.
      if (this.mixed?.isReadable) return this.#waitToReceive(NATIVE_RECEIVE_MS)
      return this.#rejectSoon(this.refused(message, this.receive))
    }
    if (this.#sending !== undefined) this.writable()
    return this.budget.turnAfter(message)?.then(() => message) ?? Promise.resolve(message)
  }

  /** Receives a message for the program. */
  tryReceive(): Received | Refusal {
    return this.tryReceiveParts() as Received | Refusal // only a proxy lets the type keep forms
  }

  /** Receives a message as it came. */
  tryReceiveParts(): ReceivedParts | Refusal {
    return this.mixed ? this.mixed.receive() : receiveFrom(this.type)
  }

  /** Waits for a message, for a turn of the event loop (`timeoutMs` undefined), or for a poll (0). */
  #waitToReceive(timeoutMs: number | undefined): Promise<Received> {
    return new Promise((resolve, reject) => {
      const receiving = { resolve, reject, limit: undefined, isBehind: timeoutMs === undefined }
      this.#receiving = receiving
      this.#beginWait(receiving, timeoutMs)
      if (timeoutMs === 0)
        afterPoll(() => {
          if (this.#receiving === receiving) this.#finishReceiving()
        })
      this.mixed?.native.wantIn(true)
    })
  }

  #finishReceiving(): void {
    const receiving = this.#receiving as PendingCall<Received>
    this.#receiving = undefined
    this.#endWait(receiving)
    this.mixed?.native.wantIn(false)
    const message = this.tryReceive()
    if (typeof message === "string") receiving.reject(this.refused(message, this.receive))
    // Messages of earlier calls may still wait for their turn.
    else if (this.budget.turn) void this.budget.turn.then(() => receiving.resolve(message))
    else receiving.resolve(message)
    if (this.#sending !== undefined) this.#wake("sending")
  }

  // -- Waiting, in either direction --------------------------------------------------

  #beginWait(call: PendingSend | PendingCall<Received>, timeoutMs: number | undefined): void {
    this.#hold.ref()
    if (timeoutMs === undefined) setImmediate(Operations.#retry, this, call)
    else if (timeoutMs > 0) this.#limit(call, timeoutMs)
  }

  #limit(call: PendingSend | PendingCall<Received>, timeoutMs: number): void {
    call.limit = new Deadline(timeoutMs, () => Operations.#retry(this, call))
  }

  #endWait({ limit }: PendingSend | PendingCall<Received>): void {
    this.budget.reset()
    limit?.clear()
    this.#hold.unref()
  }

  /** Ends a pending call whose time is over, or whose turn it is if there still is room or a message. */
  static #retry(operations: Operations, call: PendingSend | PendingCall<Received>): void {
    const isSend = operations.#sending === call
    if (!isSend && operations.#receiving !== call) return
    if (isSend && call.isBehind && operations.#mustPoll) {
      afterPoll(() => Operations.#retry(operations, call))
      return
    }
    call.isBehind = false
    const { sendTimeoutMs, receiveTimeoutMs } = operations.#state
    const timeoutMs = isSend ? sendTimeoutMs : receiveTimeoutMs
    const isOver = call.limit !== undefined || timeoutMs === 0
    // What there was before the turn may have gone with its peer.
    if (isOver || (isSend ? operations.hasOut() : operations.hasIn())) {
      if (isSend) operations.#finishSending()
      else operations.#finishReceiving()
    } else if (timeoutMs > 0) operations.#limit(call, timeoutMs)
  }
}
