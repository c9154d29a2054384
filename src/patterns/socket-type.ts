import type { SocketTypeName } from "../zmtp/socket-types.js"
import type { Message } from "./message.js"
import type { Pipe, PipeEvents } from "./pipe.js"

/** Why a message was not sent or received, as an error code of zeromq.js. */
export type Refusal = "EAGAIN" | "EFSM" | "EHOSTUNREACH" | "EINVAL"

/** Whom a socket type tells that trying again may succeed. */
export interface SocketTypeEvents {
  readable(): void
  writable(): void
}

/** Options of a socket that its type minds; those that are not of its kind have no effect. */
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

/** Routing of a message besides its parts, for the draft types. */
export interface Routing {
  /** Of SERVER. */
  routingId?: number
  /** Of RADIO and DISH. */
  group?: Buffer
}

/**
 * The behaviour of a socket type: the pipes that messages go to and are taken from.
 * It knows no network. Messages are sent and received whole.
 */
export abstract class SocketType implements PipeEvents {
  abstract readonly name: SocketTypeName
  /** Handling of queued messages when the connection of a connected socket is made again. */
  readonly resubscribes: boolean = false
  /** Whether connecting twice to one endpoint is as connecting once. */
  readonly connectsOnce: boolean = false
  /** Whether what came over a connection that is lost may still be received. */
  readonly keepsReceived: boolean = true
  readonly violation: ((message: Message) => string | undefined) | undefined = undefined
  protected readonly events: SocketTypeEvents
  protected readonly options: TypeOptions

  constructor(events: SocketTypeEvents, options: TypeOptions) {
    this.events = events
    this.options = options
  }

  /** A pipe is there: to a peer, or to one that is yet to be connected. */
  abstract attach(pipe: Pipe): void
  abstract terminated(pipe: Pipe): void

  /** The peer of a pipe is connected, and has said who it is. */
  identified(_pipe: Pipe): void {}

  send(_message: Message, _routing: Routing): Refusal | undefined {
    return "EAGAIN"
  }

  receive(): Message | Refusal {
    return "EAGAIN"
  }

  /** Routing of the message received last, for types that have it. */
  get routing(): Routing | undefined {
    return undefined
  }

  /** Whether a message would go to a peer that is there, for types that name one. */
  knows(_message: Message, _routing: Routing): boolean {
    return false
  }

  /** Whether nobody who is to get a message would go without it for want of room. */
  hasRoomFor(_message: Message): boolean {
    return true
  }

  /** The socket is closed: nothing is received any more. */
  close(): void {}

  hasIn(): boolean {
    return false
  }

  hasOut(): boolean {
    return false
  }

  subscribe(_topic: Buffer): void {}
  cancel(_topic: Buffer): void {}
  join(_group: Buffer): void {}
  leave(_group: Buffer): void {}

  readActivated(_pipe: Pipe): void {}
  writeActivated(_pipe: Pipe): void {}
  hiccuped(_pipe: Pipe): void {}

  command(_pipe: Pipe, _name: string, _data: Buffer): boolean {
    return true
  }
}
