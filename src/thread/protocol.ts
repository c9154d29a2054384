/**
 * Messages between the two threads: arrays of operations in a row, each a number and its
 * operands. What happens for every batch of messages is numbers only, so that it costs little to post.
 */

import type { Destination, HostPort } from "../transport/endpoint.js"
import type { TcpOptions } from "../transport/tcp-options.js"
import type { Ending, PeerScheme, PlainConnectionOptions } from "../transport/transport.js"
import type { AuthStatus, Credentials, HandshakeFailure } from "../zmtp/handshake.js"
import type { PlainError } from "./plain-error.js"

/** Of the thread of the sockets. Connections and endpoints go by number. */
export const toWorker = {
  /** slab, memory: where chunks will lie; without memory the slab is gone. */
  SLAB: 0,
  /** connection, slab, start, length: frames of whole messages, to be encoded and written. */
  WRITE: 1,
  /** connection, memory: the same with memory of its own, which is too large for a slab. */
  WRITE_LARGE: 2,
  /** connection: the same as the write before, for one more. */
  WRITE_SAME: 3,
  /** connection, name, data. */
  COMMAND: 4,
  /** connection, messages, bytes: so many may have come in all; 0 messages is no limit. */
  GRANT: 5,
  /** slab, runs: so many runs of it have been read. */
  FREE: 6,
  /** connection, operation: see `Control`. */
  CONTROL: 7,
  /** endpoint, EndpointSpec. */
  OPEN: 8,
  /** endpoint, address, port for the answer, or undefined, signal. */
  LISTEN: 9,
  /** endpoint. */
  DIAL: 10,
  /** endpoint: makes no connection any more. */
  CLOSE: 11,
  /** cells: where those of open batches are from now on. */
  CELLS: 12,
  /** slot, place among the cells, slab, start, connections: see OpenBatch. */
  BATCH: 13,
  /** endpoint, frames: whole messages for its next connection, or the one that it has, and for no other. */
  DELIVER: 14,
  /** cells, place: counts what is still to be written, from now on; see DepartureCells. */
  DEPART: 15,
} as const

/** Of the thread of the connections. */
export const fromWorker = {
  /** slab, memory: where frames that come will lie; without memory the slab is gone. */
  SLAB: 0,
  /** connection, slab, start, length: a piece of the frames that came. */
  FRAMES: 1,
  /** connection: as many writes have left as were waited for. */
  FLUSHED: 2,
  /** endpoint, EndpointEvent. */
  EVENT: 3,
} as const

/** The length of each operation in items, its own number included. */
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

/** Bytes that came over a connection and may be on their way between the threads, or wait there. */
export const RECEIVE_WINDOW_BYTES: number = 4 << 20

/** Rare requests to a connection. */
export type Control =
  | { type: "end" | "destroy" | "refuse" }
  | { type: "reject"; error: PlainError }
  | { type: "authenticated"; status: AuthStatus | undefined }
  /** "flushed" follows when all that was posted before has been written, unless the connection ends. */
  | { type: "flush" }

export interface EndpointSpec {
  options: PlainConnectionOptions
  tcp: TcpOptions
  /** Messages that a new connection may hand over before the first grant; 0 is no limit. */
  credit: number
  /** The address to connect to; undefined where the endpoint listens. */
  destination: Destination | undefined
}

/** The result of listening. */
export type ListenResult = { address: HostPort } | { error: PlainError }

/** An ending, as it can be posted. */
export type PlainEnding = Omit<Ending, "error" | "counts"> & { error: PlainError | undefined }

export type PlainFailure = Pick<HandshakeFailure, "reason"> & { error: PlainError }

/** There is a connection, whose handshake begins. */
export interface OpenedEvent {
  type: "opened"
  connection: number
  /** See SharedState. */
  state: Float64Array
  remoteAddress: string | undefined
  remotePort: number | undefined
}

/** Events of an endpoint. */
export type EndpointEvent =
  | { type: "listening"; result: ListenResult }
  | OpenedEvent
  | {
      type: "ready"
      connection: number
      peerRoutingId: Uint8Array
      peerTakesCommands: boolean
      peerRevision: number | undefined
      scheme: PeerScheme | undefined
    }
  | { type: "authenticate"; connection: number; credentials: Credentials }
  | { type: "refused"; connection: number; status: number }
  | { type: "failed"; connection: number; error: PlainError; failure: PlainFailure | undefined }
  /** What is sent is compressed otherwise from now on: see SharedState. */
  | { type: "effort"; connection: number }
  | { type: "flushed"; connection: number }
  | { type: "closed"; connection: number; ending: PlainEnding }
  | { type: "acceptFailed"; error: PlainError }
  | { type: "delayed" }
  | { type: "attemptFailed" }
  | { type: "retried"; intervalMs: number }
  | { type: "gaveUp"; isWrongPeer: boolean }
  /** Something went wrong that is no peer's fault. */
  | { type: "threw"; error: PlainError }
  /** The endpoint was closed, and its last connection is over. */
  | { type: "gone" }
