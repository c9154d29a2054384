/**
 * The end of a process: a script that sends and ends has delivered, over tcp:// as well as here.
 * When nothing else is left to do, endpoints are closed, and the process stays for as long as their
 * `linger` allows. Where it is made to end, by process.exit() or an error that nobody catches, the event
 * loop stands still, and what was sent is written without it.
 */
import type { Context, Socket } from "zeromq"
import { flushAll } from "../patterns/flusher.js"
import { BlockingDeparture } from "../thread/departure.js"
import type { Departure } from "../transport/transport.js"
import { Hold } from "./hold.js"
import type { SocketState } from "./state.js"

/** After so long zeromq.js says what a process waits for, in milliseconds. */
const WARNING_MS = 500
/** An endpoint that was released. */
interface Leaving {
  readonly lingerLeftMs: number
  depart(departure: Departure): void
}

/** The state of each socket, which may be collected before its messages have left. */
const watched = new Set<SocketState>()
/** Endpoints that are closed and still have something to send, with the contexts of their sockets. */
const leaving = new Set<{ endpoint: Leaving; context: Context | undefined }>()
let listening = false
/** Whether other handlers of "beforeExit" had their turn to send something. */
let announced = false
let holding = false
const staying = new Hold()

// A socket that is dropped without close() is closed by zeromq.js.
const dropped = new FinalizationRegistry<SocketState>((state) => {
  watched.delete(state)
  closeCore(state)
})

function closeCore({ core }: SocketState): void {
  core?.close(core.lingerMs)
}

/** Sees to it that the endpoints of a socket end before the process does, or with the socket. */
export function watch(socket: Socket, state: SocketState): void {
  watched.add(state)
  dropped.register(socket, state, state)
  if (listening) return
  listening = true
  process.on("beforeExit", closeAll)
  process.on("exit", depart)
}

/** Lets go of a socket that was closed, since listeners that its state knows may mention it. */
export function unwatch(state: SocketState): void {
  watched.delete(state)
  dropped.unregister(state)
}

/** Counts an endpoint that still has something to send; to be called back when it is gone. */
export function exitsLater(endpoint: Leaving, context: Context | undefined): () => void {
  const entry = { endpoint, context }
  leaving.add(entry)
  return () => {
    leaving.delete(entry)
    if (!holding || leaving.size > 0) return
    holding = false
    staying.unref()
  }
}

/**
 * Closes the cores; zeromq.js closes the sockets. It is not called here, since a call into an addon
 * takes the process down in a worker that is terminated meanwhile.
 */
function closeAll(): void {
  const open: SocketState[] = []
  for (const state of watched) {
    if (state.core?.isClosed !== false) watched.delete(state)
    else open.push(state)
  }
  if (open.length > 0 && !announced) {
    announced = true
    setImmediate(() => {}) // "beforeExit" comes again
    return
  }
  announced = false
  for (const state of open) closeCore(state)
  if (leaving.size === 0 || holding) return
  holding = true
  staying.ref()
  setTimeout(warnOfLeaving, WARNING_MS).unref()
}

/** Writes what was sent, within `linger`, as the process ends. */
function depart(): void {
  flushAll()
  const departure = new BlockingDeparture()
  let limitMs = 0
  let context: Context | undefined
  const add = (endpoint: Pick<Leaving, "depart">, lingerMs: number, from: Context | undefined) => {
    if (lingerMs === 0) return
    try {
      endpoint.depart(departure)
    } catch {
      return // there is no memory to encode its messages, or for a thread
    }
    limitMs = Math.max(limitMs, lingerMs < 0 ? Number.POSITIVE_INFINITY : lingerMs)
    context = from
  }
  for (const { core } of watched) {
    if (!core) continue
    for (const endpoint of core.openEndpoints) add(endpoint, core.lingerMs, core.context)
  }
  for (const { endpoint, context } of leaving) add(endpoint, endpoint.lingerLeftMs, context)
  departure.wait(limitMs, { afterMs: WARNING_MS, warn: () => warn(context) })
}

function warnOfLeaving(): void {
  const [first] = leaving
  if (first) warn(first.context)
}

/** As zeromq.js does, which cannot use process.emitWarning as late as that. */
function warn(context: Context | undefined): void {
  const advice = context?.blocky ? " Set 'context.blocky = false' to change this behaviour." : ""
  process.stderr.write(
    `(node:${process.pid}) WARNING: Waiting for queued ZeroMQ messages to be delivered.${advice}\n`,
  )
}
