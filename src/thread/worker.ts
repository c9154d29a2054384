/** The program of a worker thread: carries out posted operations, and posts events. */
import { type MessagePort, parentPort } from "node:worker_threads"
import type { HostPort } from "../transport/endpoint.js"
import type { Command } from "../transport/transport.js"
import { DepartureCells } from "./departure-cells.js"
import type { HostedConnection, Write } from "./hosted-connection.js"
import { HostedEndpoint } from "./hosted-endpoint.js"
import { SeenBatch } from "./open-batch.js"
import { Outbox } from "./outbox.js"
import { type Control, type EndpointSpec, toWorker, toWorkerLengths } from "./protocol.js"

/** Milliseconds between polls of open batches, whose program may be busy. */
const POLL_MS = 10
/** Milliseconds between counts of what is left to write, while the process exits. */
const COUNT_MS = 1

const port = parentPort as MessagePort
const outbox = new Outbox((told) => port.postMessage(told))
const endpoints = new Map<number, HostedEndpoint>()
const connections = new Map<number, HostedConnection>()
/** The cells of the socket thread's open batches. */
let cells: Int32Array
/** The socket thread's open batches, by slot. */
const batches = new Map<number, SeenBatch>()
let polling = false
/** The socket thread's slabs. */
const slabs = new Map<number, Uint8Array>()

port.on("message", (batch: unknown[]) => {
  let latest: Write | undefined
  for (let at = 0; at < batch.length; ) {
    const operation = batch[at] as number
    const number = batch[at + 1] as number
    switch (operation) {
      case toWorker.WRITE: {
        const start = batch[at + 3] as number
        const bytes = (slabs.get(batch[at + 2] as number) as Uint8Array).subarray(
          start,
          start + (batch[at + 4] as number),
        )
        latest = { bytes }
        connections.get(number)?.write(latest)
        break
      }
      case toWorker.WRITE_LARGE:
        latest = { bytes: batch[at + 2] as Uint8Array }
        connections.get(number)?.write(latest)
        break
      case toWorker.WRITE_SAME:
        connections.get(number)?.write(latest as Write)
        break
      case toWorker.COMMAND:
        connections.get(number)?.write({
          name: batch[at + 2] as Command["name"],
          data: batch[at + 3] as Uint8Array,
        })
        break
      case toWorker.GRANT:
        connections.get(number)?.grant(batch[at + 2] as number, batch[at + 3] as number)
        break
      case toWorker.FREE:
        outbox.free(number, batch[at + 2] as number)
        break
      case toWorker.CONTROL:
        connections.get(number)?.control(batch[at + 2] as Control)
        break
      case toWorker.SLAB: {
        const memory = batch[at + 2] as SharedArrayBuffer | undefined
        if (memory) slabs.set(number, new Uint8Array(memory))
        else slabs.delete(number)
        break
      }
      case toWorker.OPEN: {
        const spec = batch[at + 2] as EndpointSpec
        const hosted = new HostedEndpoint(number, spec, outbox, connections, () =>
          endpoints.delete(number),
        )
        endpoints.set(number, hosted)
        break
      }
      case toWorker.LISTEN:
        endpoints
          .get(number)
          ?.listen(
            batch[at + 2] as HostPort,
            batch[at + 3] as MessagePort | undefined,
            batch[at + 4] as Int32Array | undefined,
          )
        break
      case toWorker.DIAL:
        endpoints.get(number)?.dial()
        break
      case toWorker.CELLS:
        cells = batch[at + 1] as Int32Array
        break
      case toWorker.BATCH: {
        const memory = (slabs.get(batch[at + 3] as number) as Uint8Array).subarray(
          batch[at + 4] as number,
        )
        const to = batch[at + 5] as number[]
        batches.set(number, new SeenBatch(cells, batch[at + 2] as number, memory, to))
        pollLater()
        break
      }
      case toWorker.CLOSE:
        endpoints.get(number)?.close()
        break
      case toWorker.DELIVER:
        endpoints.get(number)?.deliver(batch[at + 2] as Uint8Array[])
        break
      case toWorker.DEPART:
        setInterval(
          countLeft,
          COUNT_MS,
          new DepartureCells(batch[at + 1] as Int32Array),
          batch[at + 2] as number,
        )
    }
    at += toWorkerLengths[operation] as number
  }
  for (const endpoint of endpoints.values()) endpoint.forgetLatest()
})

/** Reports what is left to write to the thread that waits for it. */
function countLeft(cells: DepartureCells, place: number): void {
  let left = 0
  for (const endpoint of endpoints.values()) left += endpoint.left
  for (const connection of connections.values()) left += connection.left
  cells.tell(place, left)
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
    const write = { bytes: batch.take() }
    if (write.bytes.length > 0) for (const connection of to) connection?.writeEarly(write)
  }
  for (const endpoint of endpoints.values()) endpoint.forgetLatest()
  if (batches.size > 0) pollLater()
}
