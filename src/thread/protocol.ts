/**
 * The messages between the socket thread, which has the sockets, and a worker, which has their
 * connections. A message is an array. Requests and events are objects. The operations that every batch
 * of messages needs are numbers followed by their operands, because those cost less to post.
 *
 * Memory that both threads see is either a slab, which the thread that owns it announces with a
 * number, or a few cells, which are part of the request or event that introduces them: the state of
 * a connection, the cells of open batches, and the counts of a departure.
 */

import type { MessagePort } from "node:worker_threads"
import { throwLater } from "../base/throw-later.js"
import type { Destination, HostPort } from "../transport/address.js"
import type { TcpOptions } from "../transport/tcp-options.js"
import type {
  Command,
  EndpointEvent,
  PeerScheme,
  PlainConnectionOptions,
} from "../transport/transport.js"
import type { AuthStatus } from "../zmtp/mechanism.js"
import type { PlainError } from "./plain-error.js"

/** Maximum bytes received over a connection that are posted but not yet read by the application. */
export const RECEIVE_WINDOW_BYTES: number = 4 << 20
/**
 * Bytes that each frame counts in addition to its own: a few bytes can be very many frames, which take
 * long to read. With 512, a connection is up to 8,192 frames ahead of the program.
 */
export const FRAME_WINDOW_BYTES = 512

// -- To the worker -------------------------------------------------------------------

/** The number of every write that one connection makes alone; each shared write has its own. */
export const NOT_SHARED = 0

/** Operations for the worker. Connections, endpoints and slabs are identified by numbers. */
export const toWorker = {
  /** connection, slab, start, length, number of the write: frames of whole messages to write. */
  WRITE: 0,
  /** connection, messages, bytes: the totals that may be received; 0 messages is no limit. */
  GRANT: 1,
  /** slab, runs: the number of its runs that have been read. */
  FREE: 2,
  /** slot, index of the cell, slab, start, number of connections, connections: see OpenBatch. */
  BATCH: 3,
  /** As WRITE: one message with flags that say how its parts are sent. */
  WRITE_KEPT: 4,
} as const

export type MessageToWorker = (number | Request)[]

/** The worker's side of the operations. */
export interface WorkerOperations {
  write(
    connection: number,
    slab: number,
    start: number,
    length: number,
    number: number,
    hasForms: boolean,
  ): void
  grant(connection: number, messages: number, bytes: number): void
  free(slab: number, runs: number): void
  batch(slot: number, at: number, slab: number, start: number, connections: number[]): void
  carryOut(request: Request): void
}

/** Reads a message to the worker. */
export function readToWorker(message: MessageToWorker, worker: WorkerOperations): void {
  let at = 0
  const next = () => message[at++] as number
  while (at < message.length) {
    const item = message[at++] as number | Request
    if (typeof item === "object") worker.carryOut(item)
    else if (item === toWorker.WRITE || item === toWorker.WRITE_KEPT)
      worker.write(next(), next(), next(), next(), next(), item === toWorker.WRITE_KEPT)
    else if (item === toWorker.GRANT) worker.grant(next(), next(), next())
    else if (item === toWorker.FREE) worker.free(next(), next())
    else worker.batch(next(), next(), next(), next(), Array.from({ length: next() }, next))
  }
}

/** Announces a slab of the thread that sends this. Without memory: the slab is gone. */
export interface SlabNotice {
  type: "slab"
  slab: number
  memory: SharedArrayBuffer | undefined
}

export type Request =
  | SlabNotice
  /** The array for the cells of later open batches. */
  | { type: "cells"; cells: Int32Array }
  /** The worker starts counting what is left to write; see DepartureCells. */
  | { type: "depart"; cells: Int32Array; place: number }
  /** POLLED follows once the worker's event loop has polled, after all that it has read by then. */
  | { type: "poll" }
  | EndpointRequest
  | ConnectionRequest

export type EndpointRequest = {
  endpoint: number
} & (
  | { type: "open"; spec: EndpointSpec; zstd: WebAssembly.Module | undefined }
  /** The result is posted to `port`, and `signal` is woken; without them, it is an event. */
  | { type: "listen"; address: HostPort; port?: MessagePort; signal?: Int32Array }
  | { type: "dial" }
  /** Whether compressed parts are posted as they came, from now on. */
  | { type: "keep"; keeps: boolean }
  /** The endpoint makes no more connections. */
  | { type: "close" }
  /** Whole messages for its current or next connection only. */
  | { type: "deliver"; frames: Uint8Array[] }
)

export type ConnectionRequest = { connection: number } & (
  | ({ type: "command" } & Command)
  /** "flushed" follows once everything posted before is written, unless the connection ends first. */
  | { type: "flush" }
  | { type: "authenticated"; status: AuthStatus | undefined }
  | { type: "reject"; error: PlainError }
  | { type: "end" | "destroy" | "refuse" }
)

export interface EndpointSpec {
  options: PlainConnectionOptions
  tcp: TcpOptions
  /** Number of messages that a new connection may post before the first grant; 0 is no limit. */
  credit: number
  /** Whether compressed parts are posted as they came. */
  keepsForms?: boolean
  /** The address to connect to; undefined if the endpoint listens. */
  destination: Destination | undefined
}

// -- From the worker -----------------------------------------------------------------

/** Operations for the socket thread. */
export const fromWorker = {
  /** connection, slab, start, length: a run of received frames, to be freed with FREE. */
  FRAMES: 0,
  /** connection: the wanted number of writes has been flushed. */
  FLUSHED: 1,
  /** connection, flags, memory, which is transferred: a frame with a large body, between runs. */
  BODY: 2,
  /** Without operands: the answer to "poll". */
  POLLED: 3,
} as const

export type MessageFromWorker = (number | SlabNotice | EventNotice | ArrayBuffer)[]

export interface EventNotice {
  type: "event"
  endpoint: number
  event: PostedEvent
}

/** The socket thread's side of the operations. */
export interface SocketOperations {
  frames(connection: number, slab: number, start: number, length: number): void
  flushed(connection: number): void
  body(connection: number, flags: number, memory: ArrayBuffer): void
  polled(): void
  notice(notice: SlabNotice | EventNotice): void
}

/**
 * Reads the operation at `start` of a message from the worker, and returns the position of the next.
 * Errors are thrown later: the other operations must not be lost.
 */
export function readFromWorker(
  message: MessageFromWorker,
  start: number,
  sockets: SocketOperations,
): number {
  let at = start
  const next = () => message[at++] as number
  const item = message[at++] as number | SlabNotice | EventNotice
  try {
    if (typeof item === "object") sockets.notice(item)
    else if (item === fromWorker.FRAMES) sockets.frames(next(), next(), next(), next())
    else if (item === fromWorker.FLUSHED) sockets.flushed(next())
    else if (item === fromWorker.POLLED) sockets.polled()
    else sockets.body(next(), next(), message[at++] as ArrayBuffer)
  } catch (error) {
    throwLater(error)
  }
  return at
}

/** The result of "listen". */
export type ListenResult = { address: HostPort } | { error: PlainError }

/** An event of the transport in the form in which it is posted: a number stands for its connection. */
export type PostedTransportEvent = Plain<EndpointEvent<number>> | OpenedEvent | ReadyEvent

type Plain<Event> = Event extends { type: "opened" | "ready" }
  ? never
  : Event extends { error: Error | undefined }
    ? Omit<Event, "error"> & { error: PlainError | undefined }
    : Event

/** "opened", with what the socket thread needs to show the connection. */
export interface OpenedEvent {
  type: "opened"
  connection: number
  /** See SharedState. */
  state: Float64Array
  remoteAddress: string | undefined
  remotePort: number | undefined
}

/** "ready", with what is known of the peer from now on. */
export interface ReadyEvent {
  type: "ready"
  connection: number
  peerRoutingId: Uint8Array
  peerTakesCommands: boolean
  peerIsLibzmq: boolean
  peerRevision: number | undefined
  scheme: PeerScheme | undefined
}

/** Events of an endpoint: those of the transport, and those of its thread. */
export type PostedEvent =
  | PostedTransportEvent
  | { type: "listening"; result: ListenResult }
  | { type: "flushed"; connection: number }
  /** An error that no peer caused. */
  | { type: "threw"; error: PlainError }
  /** The endpoint could not be opened, because the thread lacks memory. */
  | { type: "unavailable"; error: PlainError }
  /** The endpoint was closed, and its last connection has ended. */
  | { type: "gone" }
