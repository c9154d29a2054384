import { clockMs, queueMicrotask } from "../base/runtime.js"
import { FormedPart } from "../codec/formed-part.js"
import { type Part, plaintextOf } from "../zmtp/part.js"
import { FairQueue } from "./fair-queue.js"
import type { Message } from "./message.js"
import type { Pipe } from "./pipe.js"
import { type Fetched, Prefetch } from "./prefetch.js"
import { randomId } from "./random-id.js"
import { type Refusal, SocketType } from "./socket-type.js"

const ID_MAX_BYTES = 255

/**
 * The ROUTER socket: sends to the peer that the first part names, and prefixes received messages
 * with the sender's routing id.
 */
export class Router extends SocketType {
  override readonly name: "ROUTER" | "REP" = "ROUTER"
  override readonly mayKeepForms: boolean = true
  protected override readonly in: FairQueue = new FairQueue()
  readonly #out = new Map<string, Pipe>()
  /** Pipes whose peer has no routing id yet, or one that another peer already has. */
  readonly #anonymous = new Set<Pipe>()
  /**
   * Anonymous pipes by routing id. They get it from a pipe that this side has released, once its
   * messages are read.
   */
  readonly #successors = new Map<string, Pipe>()
  readonly #fetched = new Prefetch(this.in)
  /**
   * Whether a peer has gone since the program last looked for messages. In libzmq its pipe is there
   * until then, so a socket with `mandatory` whose last peer has gone rejects a message at once.
   */
  #hasLostPeer = false

  attach(pipe: Pipe): void {
    if (this.options.probeRouter) pipe.out.write([Buffer.alloc(0)])
    if (pipe.routingId !== undefined) this.#add(pipe, pipe.routingId)
    else {
      this.#anonymous.add(pipe)
      this.identified(pipe)
    }
  }

  /** Assigns the routing id that the peer gave in its handshake. Only the first one counts. */
  override identified(pipe: Pipe): void {
    const { peerRoutingId } = pipe
    if (!peerRoutingId || !this.#anonymous.has(pipe)) return
    if (peerRoutingId.length === 0) {
      this.#anonymous.delete(pipe)
      this.#add(pipe, this.#newId())
      return
    }
    const routingId = keyOf(pipe)
    const other = this.#out.get(routingId)
    if (other?.isReleased) {
      if (!this.#successors.has(routingId)) this.#successors.set(routingId, pipe)
      return
    }
    if (other) {
      if (!this.options.handover) return
      if (other.isClosed) {
        // As in libzmq, its messages are still received, under an assigned routing id.
        other.routingId = this.#newId()
        this.#out.set(other.routingId, other)
      } else {
        this.in.terminated(other)
        other.abandon()
      }
    }
    this.#anonymous.delete(pipe)
    this.#add(pipe, routingId)
  }

  override terminated(pipe: Pipe): void {
    if (this.#anonymous.delete(pipe)) {
      if (this.#isSuccessor(pipe)) this.#successors.delete(keyOf(pipe))
      return
    }
    const { routingId } = pipe
    if (routingId === undefined || this.#out.get(routingId) !== pipe) return
    this.#out.delete(routingId)
    this.in.terminated(pipe)
    this.#fetched.terminated(pipe)
    const successor = this.#successors.get(routingId)
    this.#successors.delete(routingId)
    if (successor) this.identified(successor)
    if (pipe.isReleased || !this.options.mandatory) return
    this.#hasLostPeer = true
    this.events.readable()
  }

  isReading(pipe: Pipe): boolean {
    return this.#fetched.isOf(pipe)
  }

  /**
   * Drops the messages of a peer that has no routing id of its own. The program cannot receive them,
   * and the pipe would stay.
   */
  ending(pipe: Pipe): void {
    if (this.#anonymous.has(pipe) && !this.#isSuccessor(pipe)) while (pipe.read() !== undefined);
  }

  #isSuccessor(pipe: Pipe): boolean {
    return this.#successors.get(keyOf(pipe)) === pipe
  }

  override readActivated(pipe: Pipe): void {
    if (!this.in.has(pipe)) return
    this.in.activated(pipe)
    this.events.readable()
  }

  override send(message: Message): Refusal | undefined {
    // As in libzmq, a message that consists of a routing id only is ignored.
    if (message.length < 2) return undefined
    const pipe = this.#pipeFor(message)
    if (!pipe) return this.unknown(message)
    if (pipe.out.write(message.slice(1))) return undefined
    if (!this.options.mandatory) {
      pipe.out.countDropped()
      return undefined
    }
    return pipe.out.checkHwm() ? "EHOSTUNREACH" : "EAGAIN"
  }

  override knows(message: Message): boolean {
    return this.#pipeFor(message) !== undefined
  }

  /** Returns the pipe of the peer that the first part names. */
  #pipeFor(message: Message): Pipe | undefined {
    const id = message[0] as Part
    // Most are longer than any id, so that there is no need to decode them.
    if (id instanceof FormedPart && id.plainLength > ID_MAX_BYTES) return undefined
    return this.#out.get(plaintextOf(id).toString("latin1"))
  }

  /** With `mandatory`, the program is to learn that a peer has gone, even after its last message. */
  override isUpToDate(message: Message): boolean {
    return !this.options.mandatory && (this.#pipeFor(message)?.takesNow(clockMs()) ?? false)
  }

  override refuses(message: Message): boolean {
    return this.options.mandatory && !this.knows(message)
  }

  override receive(): Message | Refusal {
    const next = this.next()
    if (next === undefined) return "EAGAIN"
    next.message.unshift(Buffer.from(next.routingId as string, "latin1"))
    return next.message
  }

  /** Takes the next message, with its sender. */
  protected next(): Fetched | undefined {
    return this.#fetched.fetch() ? this.#fetched.take() : undefined
  }

  override hasIn(): boolean {
    if (this.#hasLostPeer)
      queueMicrotask(() => {
        this.#hasLostPeer = false
      })
    return this.#fetched.fetch()
  }

  override hasOut(): boolean {
    if (!this.options.mandatory || this.#hasLostPeer) return true
    for (const pipe of this.#out.values()) if (pipe.out.hasRoom()) return true
    return false
  }

  /** Returns the refusal for a message to an unknown routing id; undefined if it is dropped silently. */
  protected unknown(_message: Message): Refusal | undefined {
    return this.options.mandatory ? "EHOSTUNREACH" : undefined
  }

  #add(pipe: Pipe, routingId: string): void {
    pipe.routingId = routingId
    this.#out.set(routingId, pipe)
    this.in.attach(pipe)
    this.events.readable()
    this.events.writable()
  }

  /** Returns an id in libzmq's form that no peer has taken: peers may choose ids of this form too. */
  #newId(): string {
    const bytes = Buffer.alloc(5)
    for (;;) {
      bytes.writeUInt32BE(randomId(), 1)
      const id = bytes.toString("latin1")
      if (!this.#out.has(id)) return id
    }
  }
}

/** Returns the routing id that the peer gave, as a key. */
function keyOf({ peerRoutingId }: Pipe): string {
  return peerRoutingId?.toString("latin1") ?? ""
}
