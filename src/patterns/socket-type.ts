import type { SocketTypeName } from "../zmtp/socket-types.js"
import type { FairQueue } from "./fair-queue.js"
import type { Message } from "./message.js"
import type { Pipe, PipeEvents } from "./pipe.js"
import { QueuedParts } from "./queued-parts.js"
import type { RoundRobin } from "./round-robin.js"

/** The reason why a message was not sent or received: an error code of zeromq.js. */
export type Refusal = "EAGAIN" | "EFSM" | "EHOSTUNREACH" | "EINVAL" | "ENOTSUP"

/** Events of a socket type: an operation that was refused may succeed now. */
export interface SocketTypeEvents {
  /** Whether the program has more messages to receive than it may in one turn of the event loop. */
  readonly isBehind?: boolean
  readable(): void
  writable(): void
}

/** Socket options that affect the behaviour of a type. Each type ignores the options of others. */
export interface TypeOptions {
  mandatory: boolean
  handover: boolean
  probeRouter: boolean
  correlate: boolean
  relaxed: boolean
  noDrop: boolean
  manual: boolean
  invertMatching: boolean
  verbosity: "none" | "allSubs" | "allSubsUnsubs"
  welcomeMessage: Buffer
}

/** The routing of a message for the draft types, which is not one of its parts. */
export interface Routing {
  /** The client's id, for SERVER. */
  routingId?: number
  /** The group, for RADIO and DISH. */
  group?: Buffer
}

/** A set of pipes that a type sends to. */
type Outlet = Pick<RoundRobin, "terminated" | "activated">

/**
 * The behaviour of a socket type: which pipes it sends to and receives from. It does not know the
 * network, and handles whole messages only.
 */
export abstract class SocketType implements PipeEvents {
  abstract readonly name: SocketTypeName
  /** Whether a reconnect drops queued messages and sends subscriptions again. */
  readonly resubscribes: boolean = false
  /** Whether a second connect() to the same endpoint has no effect. */
  readonly connectsOnce: boolean = false
  /** Whether received messages stay when the program disconnects their pipe. */
  readonly ownsReceived: boolean = false
  /**
   * Whether `send` refuses with "EAGAIN" whenever `hasOut` is false, and at no other time: the program's
   * send() need not ask first.
   */
  readonly sendTellsRoom: boolean = false
  /**
   * Whether the connections decide which peer gets the next message, or whether one does. If not, it
   * waits in a pipe that outlives its connections.
   */
  get decidesNow(): boolean {
    return true
  }

  /** Whether the type passes on received parts of which it reads none but the first. */
  readonly mayKeepForms: boolean = false
  /** Whether compressed parts are received as they came: a proxy passes them on. */
  keepsForms = false

  /** Number of peers with room, for the types that send in turn. */
  get turns(): number {
    return 1
  }

  /** The pipes that the type receives from in turn, and those that it sends to in turn or at once. */
  protected readonly in: FairQueue | undefined
  protected readonly out: Outlet | undefined
  readonly queued: QueuedParts = new QueuedParts()
  readonly violation: ((message: Message) => string | undefined) | undefined = undefined
  protected readonly events: SocketTypeEvents
  protected readonly options: TypeOptions

  constructor(events: SocketTypeEvents, options: TypeOptions) {
    this.events = events
    this.options = options
  }

  get isBehind(): boolean {
    return this.events.isBehind ?? false
  }

  /** Adds a pipe, which may not have a connection yet. */
  abstract attach(pipe: Pipe): void

  terminated(pipe: Pipe): void {
    this.in?.terminated(pipe)
    this.out?.terminated(pipe)
  }

  /** The peer of a pipe is connected, and `peerRoutingId` is set. */
  identified(_pipe: Pipe): void {}

  send(_message: Message, _routing: Routing): Refusal | undefined {
    return "ENOTSUP"
  }

  receive(): Message | Refusal {
    return this.in ? (this.in.receive() ?? "EAGAIN") : "ENOTSUP"
  }

  /** The routing of the message received last, for the types that have one. */
  get routing(): Routing | undefined {
    return undefined
  }

  /** Returns whether the peer that `message` is addressed to exists, for the types that address one. */
  knows(_message: Message, _routing: Routing): boolean {
    return false
  }

  /** Returns whether the peer that `message` names has room, and what is known of it is recent. */
  isUpToDate(_message: Message, _routing: Routing): boolean {
    return false
  }

  /** Returns whether `message` is refused however much room there is. */
  refuses(_message: Message): boolean {
    return false
  }

  /** Returns whether every peer that would get `message` has room for it. */
  hasRoomFor(_message: Message): boolean {
    return true
  }

  /** The socket was closed; it receives nothing more. */
  close(): void {}

  hasIn(): boolean {
    return this.in?.hasIn() ?? false
  }

  hasOut(): boolean {
    return false
  }

  subscribe(_topic: Buffer): void {}
  cancel(_topic: Buffer): void {}
  join(_group: Buffer): void {}
  leave(_group: Buffer): void {}

  readActivated(pipe: Pipe): void {
    this.in?.activated(pipe)
    this.events.readable()
  }

  writeActivated(pipe: Pipe): void {
    this.out?.activated(pipe)
    this.events.writable()
  }

  hiccuped(_pipe: Pipe): void {}

  command(_pipe: Pipe, _name: string, _data: Buffer): boolean {
    return true
  }
}
