import type * as zmq from "zeromq"
import type { Socket } from "zeromq"
import { FormedPart } from "../codec/formed-part.js"
import type { Message } from "../patterns/message.js"
import type { Routing } from "../patterns/socket-type.js"
import { afterPoll } from "../transport/last-poll.js"
import { zmqError } from "../transport/zmq-error.js"
import { loadZeromq } from "../zeromq.js"
import { Hold } from "./event-loop/hold.js"
import { turn } from "./event-loop/turn.js"
import type { Operations } from "./operations.js"
import { coreFor } from "./socket-core.js"
import { ensureState, type SocketState, stateOf } from "./state.js"

const zeromq: typeof zmq = loadZeromq()

/**
 * A proxy that forwards messages between two sockets. libzmq forwards if both have only its
 * endpoints; otherwise this class does.
 */
export class Lz4Proxy<F extends Socket = Socket, B extends Socket = Socket> extends zeromq.Proxy<
  F,
  B
> {
  #forwarding: Forwarding | undefined
  #isNative = false

  override run(...args: []): Promise<void> {
    const front = stateOf(this.frontEnd)
    const back = stateOf(this.backEnd)
    if (args.length > 0 || (!front?.core && !back?.core)) {
      this.#isNative = true
      const running = super.run(...args)
      // libzmq's thread uses the sockets until they are closed.
      for (const socket of [this.frontEnd, this.backEnd]) ensureState(socket).blocked = "native"
      return running
    }
    checkEndpoints(front, "Front-end")
    checkEndpoints(back, "Back-end")
    // libzmq would abort.
    for (const state of [front, back]) state?.checkFree()
    const forwarding = new Forwarding(this.frontEnd, this.backEnd)
    this.#forwarding = forwarding
    return forwarding.done.finally(() => {
      this.#forwarding = undefined
    })
  }

  override pause(...args: []): void {
    this.#control("pause", args)
  }

  override resume(...args: []): void {
    this.#control("resume", args)
  }

  override terminate(...args: []): void {
    this.#control("terminate", args)
  }

  #control(name: "pause" | "resume" | "terminate", args: []): void {
    if (this.#isNative || args.length > 0) super[name](...args)
    else if (this.#forwarding) this.#forwarding[name]()
    else throw zmqError("EBADF")
  }
}

function checkEndpoints(state: SocketState | undefined, name: string): void {
  if (state && (state.nativeEndpoints > 0 || state.endpointCount !== 0)) return
  throw zmqError("EINVAL", undefined, `${name} socket must be bound or connected`)
}

/** Both directions of a running proxy. */
class Forwarding {
  /** Settles when the proxy has ended and its sockets are closed. */
  readonly done: Promise<void>
  readonly #sockets: readonly Socket[]
  #isPaused = false
  #isOver = false
  /** The promise that both directions await while they cannot forward. */
  #change: Promise<void> | undefined
  #changed: () => void = () => {}
  #terminate: () => void = () => {}

  constructor(front: Socket, back: Socket) {
    this.#sockets = [front, back]
    const cores = this.#sockets.map(coreFor)
    const ends = cores.map(({ operations }) => operations)
    for (const socket of this.#sockets) (stateOf(socket) as SocketState).blocked = "own"
    for (const operations of ends) {
      operations.endPending()
      operations.proxy = this
    }
    // Where nobody can be sent parts as they came, they would be decoded twice.
    for (const [i, core] of cores.entries())
      core.keepForms(stateOf(this.#sockets[1 - i] as Socket)?.endpointCount !== 0)
    this.done = this.#run(ends as [Operations, Operations])
  }

  pause(isPaused = true): void {
    this.#isPaused = isPaused
    this.wake()
  }

  resume(): void {
    this.pause(false)
  }

  /** Stops both directions. The sockets are closed a turn later. */
  terminate(): void {
    this.#isOver = true
    this.wake()
    this.#terminate()
  }

  /** Makes both directions look at the sockets again. */
  wake(): void {
    this.#change = undefined
    this.#changed()
  }

  async #run([front, back]: [Operations, Operations]): Promise<void> {
    const hold = new Hold()
    hold.ref()
    const terminated = new Promise<void>((resolve) => {
      this.#terminate = resolve
    })
    const directions = [this.#forward(front, back)]
    if (front !== back) directions.push(this.#forward(back, front))
    try {
      await Promise.race([terminated, ...directions])
    } finally {
      this.#isOver = true
      await turn()
      for (const socket of this.#sockets) {
        ;(stateOf(socket) as SocketState).blocked = undefined
        socket.close()
      }
      hold.unref()
    }
  }

  /**
   * Forwards messages in one direction. As in libzmq, a message that cannot be sent yet stays in its
   * queue, so that the peers that send meanwhile have their turns.
   */
  async #forward(from: Operations, to: Operations): Promise<void> {
    while (!this.#isOver) {
      const hasOut = to.hasOut()
      const hasIn = from.hasIn()
      if (hasOut && hasIn && !this.#isPaused) {
        const [message, routing] = receive(from)
        try {
          await send(to, message, routing)
        } catch (error) {
          // A message of too many parts, or too large for the memory, is dropped, so that a peer cannot
          // end the proxy with one.
          if (!(error instanceof RangeError)) throw error
        }
      } else {
        const mayReceive = hasOut && !this.#isPaused
        from.mixed?.native.wantIn(mayReceive)
        to.mixed?.native.wantOut(!mayReceive)
        await this.#nextChange()
      }
    }
  }

  #nextChange(): Promise<void> {
    this.#change ??= new Promise((resolve) => {
      this.#changed = resolve
    })
    return this.#change
  }
}

/** Sends a message, however long that takes. */
function send(to: Operations, message: Message, routing: Routing): Promise<void> {
  return to.mustPoll(message, routing)
    ? new Promise<void>(afterPoll).then(() => sendNow(to, message, routing))
    : sendNow(to, message, routing)
}

function sendNow(to: Operations, message: Message, routing: Routing): Promise<void> {
  const outcome = to.trySend(message, routing)
  if (outcome === "EAGAIN") return sendLater(to, message, routing)
  if (typeof outcome === "object")
    return outcome.catch((error) => {
      if (error.code !== "EAGAIN") throw error
      return sendLater(to, message, routing)
    })
  if (outcome === undefined && !to.budget.countOperation()) return to.budget.nextTurn()
  return to.sent(message, outcome)
}

/** Tries again each time there is room, which may be in the pipes of other peers. */
async function sendLater(to: Operations, message: Message, routing: Routing): Promise<void> {
  for (let mayWait = true; ; mayWait = !mayWait) {
    try {
      if (mayWait) return await to.waitToSend(message, routing, -1)
      // Others may have got room since it was refused, while nobody waited for that.
      const outcome = to.trySend(message, routing)
      if (typeof outcome === "string") throw to.refused(outcome, sendLater)
      return await outcome
    } catch (error) {
      if ((error as { code?: string }).code !== "EAGAIN" || to.isClosed) throw error
    }
  }
}

/** Receives a message, of which there is one: its parts, and its routing. */
function receive(from: Operations): [message: Message, routing: Routing] {
  const received = from.tryReceiveParts()
  if (typeof received === "string") throw from.refused(received, receive)
  const last = received.at(-1)
  if (Buffer.isBuffer(last) || last instanceof FormedPart) return [received as Message, {}]
  return [received.slice(0, -1) as Message, last as Routing]
}

Object.defineProperty(Lz4Proxy, "name", { value: "Proxy" })

/** The class, with zeromq.js's error for a call without `new`. */
export const NamedProxy: typeof Lz4Proxy = new Proxy(Lz4Proxy, {
  apply() {
    throw new TypeError("Class constructors cannot be invoked without 'new'")
  },
})
