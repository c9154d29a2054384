/**
 * The messages between the socket thread, which has the sockets, and a worker, which has their
 * connections. A message is an array of operations, each a number followed by its operands. The
 * operations for every batch of messages consist of numbers only, which are cheap to post.
 */

import type { Destination, HostPort } from "../transport/endpoint.js"
import type { TcpOptions } from "../transport/tcp-options.js"
import type { EndpointEvent, PeerScheme, PlainConnectionOptions } from "../transport/transport.js"
import type { AuthStatus } from "../zmtp/handshake.js"
import type { PlainError } from "./plain-error.js"

/** Operations for the worker. Connections and endpoints are identified by numbers. */
export const toWorker = {
  /** slab, memory: memory for chunks. Without memory, the slab was released. */
  SLAB: 0,
  /** connection, slab, start, length: frames of whole messages to encode and write. */
  WRITE: 1,
  /** connection, memory: like WRITE, for frames too large for a slab. */
  WRITE_LARGE: 2,
  /** connection: the same frames as the previous write, for another connection. */
  WRITE_SAME: 3,
  /** connection, name, data. */
  COMMAND: 4,
  /** connection, messages, bytes: the totals that may be received; 0 messages is no limit. */
  GRANT: 5,
  /** slab, runs: the number of its runs that have been read. */
  FREE: 6,
  /** connection, operation: see `Control`. */
  CONTROL: 7,
  /** endpoint, EndpointSpec. */
  OPEN: 8,
  /** endpoint, address, port for the result or undefined, signal. */
  LISTEN: 9,
  /** endpoint. */
  DIAL: 10,
  /** endpoint: make no more connections. */
  CLOSE: 11,
  /** cells: the array for the cells of later open batches. */
  CELLS: 12,
  /** slot, index of the cell, slab, start, connections: see OpenBatch. */
  BATCH: 13,
  /** endpoint, frames: whole messages for its current or next connection only. */
  DELIVER: 14,
  /** cells, place: start counting what is left to write; see DepartureCells. */
  DEPART: 15,
} as const

/** Operations for the socket thread. */
export const fromWorker = {
  /** slab, memory: memory for received frames. Without memory, the slab was released. */
  SLAB: 0,
  /** connection, slab, start, length: a piece of the received frames. */
  FRAMES: 1,
  /** connection: the wanted number of writes has been flushed. */
  FLUSHED: 2,
  /** endpoint, PostedEvent. */
  EVENT: 3,
} as const

/** The length of each operation in items, including its own number. */
export const toWorkerLengths: Readonly<Record<number, number>> = {
  [toWorker.SLAB]: 3,
  [toWorker.WRITE]: 5,
  [toWorker.WRITE_LARGE]: 3,
  [toWorker.WRITE_SAME]: 2,
  [toWorker.COMMAND]: 4,
  [toWorker.GRANT]: 4,
  [toWorker.FREE]: 3,
  [toWorker.CONTROL]: 3,
  [toWorker.OPEN]: 3,
  [toWorker.LISTEN]: 5,
  [toWorker.DIAL]: 2,
  [toWorker.CLOSE]: 2,
  [toWorker.CELLS]: 2,
  [toWorker.BATCH]: 6,
  [toWorker.DELIVER]: 3,
  [toWorker.DEPART]: 3,
}
export const fromWorkerLengths: Readonly<Record<number, number>> = {
  [fromWorker.SLAB]: 3,
  [fromWorker.FRAMES]: 5,
  [fromWorker.FLUSHED]: 2,
  [fromWorker.EVENT]: 3,
}

/** Maximum bytes received over a connection that are posted but not yet read by the application. */
export const RECEIVE_WINDOW_BYTES: number = 4 << 20

/** Rare requests to a connection. */
export type Control =
  | { type: "end" | "destroy" | "refuse" }
  | { type: "reject"; error: PlainError }
  | { type: "authenticated"; status: AuthStatus | undefined }
  /** "flushed" follows once everything posted before has been written, unless the connection ends first. */
  | { type: "flush" }

export interface EndpointSpec {
  options: PlainConnectionOptions
  tcp: TcpOptions
  /** Number of messages that a new connection may post before the first grant; 0 is no limit. */
  credit: number
  /** The address to connect to; undefined if the endpoint listens. */
  destination: Destination | undefined
}

/** The result of LISTEN. */
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
  /** The endpoint was closed, and its last connection has ended. */
  | { type: "gone" }
