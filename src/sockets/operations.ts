import { OPERATIONS_MAX } from "../base/limits.js"
import { Queue } from "../base/queue.js"
import { clockMs, nextTick, queueMicrotask, setImmediate } from "../base/runtime.js"
import { partDetached } from "../codec/errors.js"
import type { Message } from "../patterns/message.js"
import type { Refusal, Routing, SocketType, SocketTypeEvents } from "../patterns/socket-type.js"
import { ONE_WAY, SOCKET_TYPES } from "../patterns/types.js"
import { Deadline } from "../transport/deadline.js"
import { afterPoll, isOutdated } from "../transport/last-poll.js"
import { shorten, zmqError } from "../transport/zmq-error.js"
import type { SocketTypeName } from "../zmtp/socket-types.js"
import { checkFree } from "./blocking.js"
import type { Hold } from "./event-loop/hold.js"
import { TurnBudget } from "./event-loop/turn-budget.js"
import { copyMessage, copySmallParts, type Received, receiveFrom } from "./message.js"
import { busyError, refusalError } from "./mistakes.js"
import type { MixedSocket } from "./mixed-socket.js"
import { NATIVE_RECEIVE_MS } from "./native-pipe.js"
import type { SocketState } from "./state.js"

const RESOLVED = Promise.resolve()

interface PendingSend {
  readonly message: Message
  readonly routing: Routing
  readonly resolve: () => void
  readonly reject: (error: Error) => void
  limit: Deadline | undefined
  /** Whether there is room, and the call only waits for a turn of the event loop. */
  isBehind: boolean
  /** Whether there is room, and the call only waits until the event loop has polled. */
  awaitsPoll: boolean
}

/** A message that is sent once the event loop has polled. */
interface HeldSend extends PendingSend {
  /** Its size. Large parts are in the program's memory, which may be detached meanwhile. */
  readonly bytes: number
  /** Milliseconds that it may wait for room, from `sinceMs` on; -1 is no limit. */
  readonly timeoutMs: number
  readonly sinceMs: number
}

interface PendingReceive {
  resolve: (message: Received) => void
  reject: (error: Error) => void
  limit: Deadline | undefined
  /** Whether there is a message, and the call only waits for a turn of the event loop. */
  isBehind: boolean
}

/**
 * The calls of send() and receive() of a socket. One of each may wait: for a peer or a message,
 * until a timeout, or for its turn of the event loop.
 */
export class Operations implements SocketTypeEvents {
  readonly type: SocketType
  /** Takes the place of `type` if the socket has endpoints of libzmq, too. */
  mixed: MixedSocket | undefined
  isClosed = false
  /** The running proxy that uses the socket. It is woken whenever pending calls would be. */
  proxy: { wake(): void } | undefined
  /**
   * Whether the socket both sends and receives. As in libzmq, a program that waits for room also makes
   * such a socket look for messages, and the reverse: pipes that are found empty or full lose their turn.
   */
  readonly #isTwoWay: boolean
  readonly #state: SocketState
  readonly #hold: Hold
  readonly #budget = new TurnBudget()
  #sending: PendingSend | undefined
  /**
   * Messages that wait for a poll of the event loop, because what is known of the connections is old, in
   * the order of their calls. If one finds no room afterwards, it is pending, and the others wait behind it.
   */
  readonly #held = new Queue<HeldSend>()
  /** Callbacks for when no message is held any more. */
  #heldWaiters: (() => void)[] = []
  /** Whether the event loop has yet to poll. */
  #awaitsPoll = false
  /** Whether any peer is connected. */
  readonly #isConnected: () => boolean
  #receiving: PendingReceive | undefined

  constructor(
    typeName: SocketTypeName,
    state: SocketState,
    hold: Hold,
    isConnected: () => boolean,
  ) {
    this.#state = state
    this.#hold = hold
    this.#isConnected = isConnected
    this.type = new SOCKET_TYPES[typeName](this, state.typeOptions)
    this.#isTwoWay = !ONE_WAY.has(typeName)
  }

  readable(): void {
    if (this.#receiving && this.hasIn()) this.#finishReceiving()
    // An option set meanwhile may let it send. As in libzmq, that shows only when something else happens.
    else if (this.#sending && !this.#sending.isBehind) this.writable()
    this.proxy?.wake()
  }

  writable(): void {
    if (this.#sending && this.hasOut()) {
      // Who has room may have gone: the rest of what the poll has brought is still to be read.
      if (this.#mustPoll) this.#finishAfterPoll(this.#sending)
      else this.#finishSending()
    }
    this.proxy?.wake()
  }

  #finishAfterPoll(sending: PendingSend): void {
    if (sending.awaitsPoll) return
    sending.awaitsPoll = true
    afterPoll(() => {
      sending.awaitsPoll = false
      if (this.#sending === sending) this.writable()
    })
  }

  /** Uses libzmq's endpoints as well, also for the calls that wait. */
  mix(mixed: MixedSocket): void {
    this.mixed = mixed
    if (this.#receiving) mixed.wantIn(true)
    if (this.#sending) mixed.wantOut(true)
  }

  /** Ends the pending calls. As in zeromq.js, they get one last try. */
  endPending(): void {
    if (this.#receiving) this.#finishReceiving()
    if (this.#sending) this.#finishSending()
  }

  // A call that only waits for its turn gets that in any case: if two loops gave it to each other in ticks,
  // the event loop would have none.

  #readableAfterSend(): void {
    if (!this.#receiving?.isBehind) this.readable()
  }

  #writableAfterReceive(): void {
    if (!this.#sending?.isBehind) this.writable()
  }

  /** Ends the pending calls, and accepts no more. Calls `ended` once no message is held any more. */
  close(ended: () => void): void {
    this.isClosed = true
    this.endPending()
    if (this.mixed) this.sendHeld() // libzmq's side is closed next
    this.afterHeld(() => {
      this.mixed?.close()
      ended()
    })
  }

  // -- Sending ---------------------------------------------------------------------

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

  #trySend(message: Message, routing: Routing): Refusal | Promise<void> | undefined {
    return message.length === 0 ? undefined : (this.mixed ?? this.type).send(message, routing)
  }

  #tryReceive(): Received | Refusal {
    return this.mixed ? this.mixed.receive() : receiveFrom(this.type)
  }

  /** @throws Error with code EBUSY or EBADF if the socket can neither send nor receive now. */
  checkUsable(): void {
    checkFree(this.#state)
    if (this.isClosed) throw shorten(zmqError("EBADF"), this.checkUsable)
  }

  send(
    message: Message,
    routing: Routing,
    sendTimeoutMs: number = this.#state.sendTimeoutMs,
  ): Promise<void> {
    if (this.#sending || this.#held.length > OPERATIONS_MAX)
      throw shorten(busyError("send"), this.send)
    if (this.holds || (this.#mustPoll && !this.#isUpToDate(message, routing)))
      return this.#holdSend(message, routing, sendTimeoutMs)
    const mayWait = sendTimeoutMs !== 0
    if (mayWait && this.#isTwoWay) this.type.hasIn()
    const { sendTellsRoom } = this.type
    // Whether there is no need to ask for room first.
    const isUnasked = mayWait && sendTellsRoom && !this.mixed && message.length > 0
    if (mayWait && !isUnasked && !this.hasOut())
      return this.#waitForRoom(message, routing, sendTimeoutMs)
    if (mayWait && !this.#budget.countOperation())
      return this.#waitToSend(message, routing, undefined)
    const refusal = this.#trySend(message, routing)
    if (refusal === "EAGAIN" && (isUnasked || this.#knowsOldNews))
      return this.#waitForRoom(message, routing, sendTimeoutMs)
    if (this.#receiving !== undefined) this.readable()
    if (typeof refusal === "string") return this.#rejectSoon(this.#refused(refusal, this.send))
    if (refusal) return refusal.catch((error) => this.#rejectSoon(error))
    return this.#budget.turnAfter(message) ?? RESOLVED
  }

  #refused(refusal: Refusal, method: (...args: never[]) => unknown): Error {
    return shorten(refusalError(refusal, this.type.name), method)
  }

  /** Rejects, from time to time a turn of the event loop later, so that programs may try again at once. */
  #rejectSoon(error: Error): Promise<never> {
    if (this.#budget.countOperation()) return Promise.reject(error)
    return this.#budget.nextTurn().then(() => {
      throw error
    })
  }

  /** Sends a message of a proxy, however long that takes. */
  sendForProxy(message: Message, routing: Routing): Promise<void> {
    return this.#mustPoll && !this.#isUpToDate(message, routing)
      ? new Promise<void>(afterPoll).then(() => this.#sendForProxyNow(message, routing))
      : this.#sendForProxyNow(message, routing)
  }

  #sendForProxyNow(message: Message, routing: Routing): Promise<void> {
    const refusal = this.#trySend(message, routing)
    if (refusal === "EAGAIN") return this.#sendForProxyLater(message, routing)
    if (typeof refusal === "string")
      return this.#rejectSoon(this.#refused(refusal, this.sendForProxy))
    if (refusal)
      return refusal.catch((error) => {
        if (error.code !== "EAGAIN") throw error
        return this.#sendForProxyLater(message, routing)
      })
    if (!this.#budget.countOperation()) return this.#budget.nextTurn()
    return this.#budget.turnAfter(message) ?? RESOLVED
  }

  /** Tries again each time there is room, which may be in the pipes of other peers. */
  async #sendForProxyLater(message: Message, routing: Routing): Promise<void> {
    for (let mayWait = true; ; mayWait = !mayWait) {
      try {
        if (mayWait) return await this.#waitToSend(message, routing, -1)
        // Others may have got room since it was refused, while nobody waited for that.
        const refusal = this.#trySend(message, routing)
        if (typeof refusal === "string") throw this.#refused(refusal, this.sendForProxy)
        return await refusal
      } catch (error) {
        if ((error as { code?: string }).code !== "EAGAIN" || this.isClosed) throw error
      }
    }
  }

  // -- Sending when the event loop has not polled for a while ------------------------

  /** Whether peers may have gone, or read what they were sent, without this side's knowledge. */
  get #knowsOldNews(): boolean {
    return isOutdated() && this.#isConnected()
  }

  /** Whether to hold messages: what becomes of them would be decided on old news. */
  get #mustPoll(): boolean {
    return (this.mixed !== undefined || this.type.decidesNow) && this.#knowsOldNews
  }

  #isUpToDate(message: Message, routing: Routing): boolean {
    return this.mixed === undefined && message.length > 0 && this.type.isUpToDate(message, routing)
  }

  #waitForRoom(message: Message, routing: Routing, timeoutMs: number): Promise<void> {
    return this.#knowsOldNews
      ? this.#holdSend(message, routing, timeoutMs)
      : this.#waitToSend(message, routing, timeoutMs)
  }

  /** Holds a message until the event loop has polled. Programs that do not await send() may go on sending. */
  #holdSend(message: Message, routing: Routing, timeoutMs: number): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#held.push({
        message: copySmallParts(message),
        bytes: bytesOf(message),
        routing,
        resolve,
        reject,
        limit: undefined,
        isBehind: false,
        awaitsPoll: false,
        timeoutMs,
        sinceMs: clockMs(),
      })
      if (this.#awaitsPoll || this.#sending) return
      this.#awaitsPoll = true
      afterPoll(() => this.sendHeld())
    })
  }

  /** Sends the held messages, or makes the first that finds no room the pending one. */
  sendHeld(): void {
    if (this.#sending) return
    this.#awaitsPoll = false
    if (this.holds && this.#receiving !== undefined) afterPrograms(() => this.#readableAfterSend())
    for (let next = this.#held.shift(); next; next = this.#held.shift()) {
      const leftMs =
        next.timeoutMs < 0 ? -1 : Math.max(0, next.sinceMs + next.timeoutMs - clockMs())
      if (leftMs !== 0 && !this.isClosed && this.#mustWait(next)) {
        this.#setPending(next, leftMs)
        return
      }
      if (bytesOf(next.message) === next.bytes) this.#trySending(next)
      else next.reject(partDetached(next.bytes))
    }
    const waiters = this.#heldWaiters
    this.#heldWaiters = []
    for (const notify of waiters) notify()
  }

  /** Returns whether a held message waits for room. There seemed to be some when it was sent. */
  #mustWait({ message }: HeldSend): boolean {
    return !this.hasOut() && (this.mixed !== undefined || !this.type.refuses(message))
  }

  /** Resolves once the messages that wait for a poll have been sent, or wait for room. */
  polled(): Promise<void> {
    return this.#awaitsPoll ? new Promise(afterPoll) : RESOLVED
  }

  /** Whether messages are held. */
  get holds(): boolean {
    return this.#held.length > 0
  }

  /** Calls back once no message is held any more, but sent or refused. */
  afterHeld(callback: () => void): void {
    if (!this.holds) callback()
    else this.#heldWaiters.push(callback)
  }

  /** Calls back once the messages so far have been sent or refused, and their calls have settled. */
  afterSent(callback: () => void): void {
    this.afterHeld(() => {
      const { turn } = this.#budget
      if (turn) void turn.then(callback)
      else callback()
    })
  }

  // -- Sending later -----------------------------------------------------------------

  /** Waits until there is room, or for a turn of the event loop if `timeoutMs` is undefined. */
  #waitToSend(message: Message, routing: Routing, timeoutMs: number | undefined): Promise<void> {
    return new Promise((resolve, reject) => {
      const copied = copyMessage(message)
      const sending: PendingSend = {
        message: copied,
        routing,
        resolve,
        reject,
        limit: undefined,
        isBehind: timeoutMs === undefined,
        awaitsPoll: false,
      }
      this.#setPending(sending, timeoutMs)
    })
  }

  #setPending(sending: PendingSend, timeoutMs: number | undefined): void {
    this.#sending = sending
    this.#hold.ref()
    if (timeoutMs === undefined) setImmediate(sendNow, this, sending)
    else if (timeoutMs > 0) this.#limitSending(sending, timeoutMs)
    this.mixed?.wantOut(true)
  }

  #limitSending(sending: PendingSend, timeoutMs: number): void {
    sending.limit = new Deadline(timeoutMs, () => this.sendNow(sending))
  }

  #finishSending(): void {
    const sending = this.#sending as PendingSend
    this.#sending = undefined
    this.#budget.reset()
    sending.limit?.clear()
    this.#hold.unref()
    this.mixed?.wantOut(false)
    this.#trySending(sending)
    if (this.#receiving !== undefined) afterPrograms(() => this.#readableAfterSend())
    if (!this.#awaitsPoll && (this.holds || this.#heldWaiters.length > 0)) this.sendHeld()
  }

  #trySending(sending: PendingSend): void {
    try {
      const refusal = this.#trySend(sending.message, sending.routing)
      if (refusal === undefined) sending.resolve()
      else if (typeof refusal === "string") sending.reject(this.#refused(refusal, this.send))
      else refusal.then(sending.resolve, sending.reject)
    } catch (error) {
      sending.reject(error as Error)
    }
  }

  sendNow(sending: PendingSend): void {
    if (this.#sending !== sending) return
    if (sending.isBehind && this.#mustPoll) {
      afterPoll(() => this.sendNow(sending))
      return
    }
    sending.isBehind = false
    const { sendTimeoutMs } = this.#state
    // Room that there was before the turn may have gone with its peer.
    if (sending.limit !== undefined || sendTimeoutMs === 0 || this.hasOut()) this.#finishSending()
    else if (sendTimeoutMs > 0) this.#limitSending(sending, sendTimeoutMs)
  }

  // -- Receiving -------------------------------------------------------------------

  get isBehind(): boolean {
    return this.#receiving?.isBehind ?? false
  }

  receive(receiveTimeoutMs: number = this.#state.receiveTimeoutMs): Promise<Received> {
    if (this.#receiving) throw shorten(busyError("receive"), this.receive)
    if (this.#isTwoWay && receiveTimeoutMs !== 0) this.type.hasOut()
    if (receiveTimeoutMs === 0 && !this.hasIn() && (this.holds || this.#knowsOldNews))
      return this.#waitToReceive(0)
    if (receiveTimeoutMs === 0 || this.hasIn()) {
      if (receiveTimeoutMs === 0 || this.#budget.countOperation()) {
        const message = this.#tryReceive()
        if (typeof message === "string") {
          // libzmq has a message, which it gives to a pending call only.
          if (this.mixed?.isReadable) return this.#waitToReceive(NATIVE_RECEIVE_MS)
          return this.#rejectSoon(this.#refused(message, this.receive))
        }
        if (this.#sending !== undefined) this.writable()
        return this.#budget.turnAfter(message)?.then(() => message) ?? Promise.resolve(message)
      }
      return this.#waitToReceive(undefined)
    }
    return this.#waitToReceive(receiveTimeoutMs)
  }

  /** Receives a message for a proxy, which has checked that there is one. */
  receiveForProxy(): Received {
    const message = this.#tryReceive()
    if (typeof message === "string") throw this.#refused(message, this.receiveForProxy)
    return message
  }

  /** Waits for a message, or for a turn of the event loop if `timeoutMs` is undefined, or for a poll if it is 0. */
  #waitToReceive(timeoutMs: number | undefined): Promise<Received> {
    return new Promise((resolve, reject) => {
      const receiving: PendingReceive = {
        resolve,
        reject,
        limit: undefined,
        isBehind: timeoutMs === undefined,
      }
      this.#receiving = receiving
      this.#hold.ref()
      if (timeoutMs === undefined) setImmediate(receiveNow, this, receiving)
      else if (timeoutMs === 0) afterPoll(() => this.#finishIfPending(receiving))
      else if (timeoutMs > 0) this.#limitReceiving(receiving, timeoutMs)
      this.mixed?.wantIn(true)
    })
  }

  #limitReceiving(receiving: PendingReceive, timeoutMs: number): void {
    receiving.limit = new Deadline(timeoutMs, () => this.receiveNow(receiving))
  }

  #finishReceiving(): void {
    const receiving = this.#receiving as PendingReceive
    this.#receiving = undefined
    this.#budget.reset()
    receiving.limit?.clear()
    this.#hold.unref()
    this.mixed?.wantIn(false)
    const message = this.#tryReceive()
    if (typeof message === "string") receiving.reject(this.#refused(message, this.receive))
    else receiving.resolve(message)
    if (this.#sending !== undefined) afterPrograms(() => this.#writableAfterReceive())
  }

  #finishIfPending(receiving: PendingReceive): void {
    if (this.#receiving === receiving) this.#finishReceiving()
  }

  receiveNow(receiving: PendingReceive): void {
    if (this.#receiving !== receiving) return
    receiving.isBehind = false
    const { receiveTimeoutMs } = this.#state
    // A message that there was before the turn may have gone with its peer.
    if (receiving.limit !== undefined || receiveTimeoutMs === 0 || this.hasIn())
      this.#finishReceiving()
    else if (receiveTimeoutMs > 0) this.#limitReceiving(receiving, receiveTimeoutMs)
  }
}

function bytesOf(message: Message): number {
  let bytes = 0
  for (const { length } of message) bytes += length
  return bytes
}

function sendNow(operations: Operations, sending: PendingSend): void {
  operations.sendNow(sending)
}

function receiveNow(operations: Operations, receiving: PendingReceive): void {
  operations.receiveNow(receiving)
}

/**
 * Calls back when the program has gone on after an operation, as far as it can at once. As in zeromq.js,
 * the other pending operation is still pending until then.
 */
function afterPrograms(callback: () => void): void {
  queueMicrotask(() => nextTick(callback)) // a tick runs after all microtasks
}
