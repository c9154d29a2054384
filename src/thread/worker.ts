/** The program of a worker thread: carries out posted operations, and posts events. */

import { type MessagePort, parentPort } from "node:worker_threads"
import { setInterval, setTimeout } from "../base/runtime.js"
import { provideZstd } from "../codec/formats.js"
import { useModule } from "../codec/module.js"
import { zstd } from "../codec/zstd/format.js"
import { afterPoll } from "../transport/last-poll.js"
import { DepartureCells } from "./departure-cells.js"
import type { HostedConnection } from "./hosted-connection.js"
import { HostedEndpoint } from "./hosted-endpoint.js"
import { POLL_MS, SeenBatch } from "./open-batch.js"
import { toPlain } from "./plain-error.js"
import {
  type EndpointSpec,
  type MessageToWorker,
  NOT_SHARED,
  type Request,
  readToWorker,
  type WorkerOperations,
} from "./protocol.js"
import { SeenSlabs } from "./shared-slabs.js"
import { WorkerOutbox } from "./worker-outbox.js"

/** Milliseconds between counts of what is left to write, while the process exits. */
const COUNT_MS = 1

provideZstd(zstd)

const port = parentPort as MessagePort
const outbox = new WorkerOutbox((message, transfer) => port.postMessage(message, transfer))
const endpoints = new Map<number, HostedEndpoint>()
const connections = new Map<number, HostedConnection>()
/** The cells of the socket thread's open batches. */
let cells: Int32Array
/** The socket thread's open batches, by slot. */
const batches = new Map<number, SeenBatch>()
let polling = false
/** The number of the last write from an open batch. They are negative, unlike those of posted writes. */
let lastEarly = 0
/** The socket thread's slabs. */
const slabs = new SeenSlabs()

const operations: WorkerOperations = {
  write(connection, slab, start, length, number, hasForms) {
    const bytes = slabs.bytes(slab, start, length)
    connections.get(connection)?.write({ bytes, number, hasForms })
  },
  grant(connection, messages, bytes) {
    connections.get(connection)?.grant(messages, bytes)
  },
  free(slab, runs) {
    outbox.free(slab, runs)
  },
  batch(slot, at, slab, start, connections) {
    const memory = slabs.bytes(slab, start)
    batches.set(slot, new SeenBatch(cells, at, memory, connections))
    pollLater()
  },
  carryOut,
}

port.on("message", (message: MessageToWorker) => readToWorker(message, operations))

function carryOut(request: Request): void {
  switch (request.type) {
    case "slab":
      slabs.take(request)
      break
    case "cells":
      cells = request.cells
      break
    case "depart":
      setInterval(countRemaining, COUNT_MS, new DepartureCells(request.cells), request.place)
      break
    case "poll":
      afterPoll(() => outbox.polled())
      break
    case "open":
      if (request.zstd) useModule("zstd", request.zstd)
      open(request.endpoint, request.spec)
      break
    case "listen":
      endpoints.get(request.endpoint)?.listen(request.address, request.port, request.signal)
      break
    case "dial":
      endpoints.get(request.endpoint)?.dial()
      break
    case "keep": {
      const endpoint = endpoints.get(request.endpoint)
      if (endpoint) endpoint.keepsForms = request.keeps
      break
    }
    case "close":
      endpoints.get(request.endpoint)?.close()
      break
    case "deliver":
      endpoints.get(request.endpoint)?.deliver(request.frames)
      break
    default:
      connections.get(request.connection)?.carryOut(request)
  }
}

function open(number: number, spec: EndpointSpec): void {
  const gone = () => endpoints.delete(number)
  try {
    endpoints.set(number, new HostedEndpoint(number, spec, outbox, connections, gone))
  } catch (error) {
    outbox.event(number, { type: "unavailable", error: toPlain(error as Error) })
  }
}

/** Reports what is left to write to the thread that waits for it. */
function countRemaining(cells: DepartureCells, place: number): void {
  let remaining = 0
  for (const endpoint of endpoints.values()) remaining += endpoint.remaining
  for (const connection of connections.values()) remaining += connection.remaining
  cells.tell(place, remaining)
}

function pollLater(): void {
  if (polling) return
  polling = true
  setTimeout(poll, POLL_MS)
}

/** Writes messages that the program has sent but not yet posted. */
function poll(): void {
  polling = false
  for (const [slot, batch] of batches) {
    if (batch.isOver) {
      batches.delete(slot)
      continue
    }
    const to = batch.connections.map((number) => connections.get(number))
    if (!to.every((connection) => connection?.isFree)) continue
    const number = to.length > 1 ? --lastEarly : NOT_SHARED
    const write = { bytes: batch.take(), number }
    if (write.bytes.length > 0) for (const connection of to) connection?.writeEarly(write)
  }
  if (batches.size > 0) pollLater()
}
