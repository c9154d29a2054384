/**
 * Delivers sent messages before the process exits, as tcp:// does. When the event loop is empty, all
 * endpoints are closed, and the process stays alive for as long as their `linger` allows. process.exit()
 * and uncaught errors stop the event loop: the messages are then written without it (exit-wait.ts).
 */

import type { Context, Socket } from "zeromq"
import { setImmediate, setTimeout } from "../../base/runtime.js"
import { flushAll } from "../../patterns/flusher.js"
import { print } from "../../transport/diagnosis.js"
import type { Departure } from "../../transport/transport.js"
import type { SocketState } from "../state.js"
import { forgetExit, listenForExit } from "./exit-listeners.js"
import { BlockingDeparture } from "./exit-wait.js"
import { Hold, holdBriefly } from "./hold.js"

/** Milliseconds after which zeromq.js prints why the process has not exited. */
const WARNING_MS = 500

/** An endpoint that was released. */
interface Leaving {
  readonly lingerLeftMs: number
  readonly hasUnsent: boolean
  noticeEnds(): void
  depart(departure: Departure): void
}

/** The states of open sockets, which may be collected before their messages are written. */
const watched = new Set<SocketState>()
/** Endpoints that were closed but have messages to send, with the contexts of their sockets. */
const leaving = new Set<{ endpoint: Leaving; context: Context | undefined }>()
/** Whether the other handlers of "beforeExit" have had a turn to send messages. */
let isAnnounced = false
let isHolding = false
const hold = new Hold()
const atExit = { beforeExit: closeCores, exit: depart }

// zeromq.js closes a socket that is collected without close(). If it has sent nothing, that may end its
// attempt to connect, and its peer sees a connection without a greeting.
const collected = new FinalizationRegistry<SocketState>((state) => {
  watched.delete(state)
  closeCore(state)
  forgetIfIdle()
})

function closeCore({ core }: SocketState): void {
  core?.close(core.lingerMs, () => {})
}

/** Ends a socket's endpoints when the process ends, or the socket is collected. */
export function watch(socket: Socket, state: SocketState): void {
  watched.add(state)
  collected.register(socket, state, state)
  listenForExit(atExit)
  holdBriefly()
}

/** Lets this copy of the package be collected. */
function forgetIfIdle(): void {
  if (watched.size === 0 && leaving.size === 0) forgetExit(atExit)
}

/** Drops the state of a closed socket, because its listeners may refer to the socket. */
export function unwatch(state: SocketState): void {
  watched.delete(state)
  collected.unregister(state)
  if (state.core) holdBriefly()
  forgetIfIdle()
}

/** Registers an endpoint with messages to send. Returns the callback for when it has none. */
export function exitsLater(endpoint: Leaving, context: Context | undefined): () => void {
  const entry = { endpoint, context }
  leaving.add(entry)
  listenForExit(atExit)
  return () => {
    leaving.delete(entry)
    holdBriefly()
    forgetIfIdle()
    if (!isHolding || leaving.size > 0) return
    isHolding = false
    hold.unref()
  }
}

/**
 * Closes the socket cores; zeromq.js closes the sockets. Calling the addon here would crash the
 * process if a worker were terminated meanwhile.
 */
function closeCores(): void {
  const open: SocketState[] = []
  for (const state of watched) {
    if (state.core?.isClosed !== false) watched.delete(state)
    else open.push(state)
  }
  if (open.length > 0 && !isAnnounced) {
    isAnnounced = true
    setImmediate(() => {}) // "beforeExit" will be emitted again
    return
  }
  isAnnounced = false
  for (const state of open) closeCore(state)
  if (leaving.size === 0 || isHolding) return
  isHolding = true
  hold.ref()
  setTimeout(warnOfLeaving, WARNING_MS).unref()
}

/** Writes what was sent, within `linger`. The process is exiting. */
function depart(): void {
  for (const { core } of watched)
    if (core) {
      for (const endpoint of core.endpoints.open) endpoint.noticeEnds()
      core.operations.sendHeld()
    }
  for (const { endpoint } of leaving) endpoint.noticeEnds()
  flushAll()
  const departure = new BlockingDeparture()
  let limitMs = 0
  let context: Context | undefined
  const add = (endpoint: Pick<Leaving, "depart">, lingerMs: number, from: Context | undefined) => {
    if (lingerMs === 0) return
    try {
      endpoint.depart(departure)
    } catch {
      return // not enough memory to encode the messages, or to start a thread
    }
    limitMs = Math.max(limitMs, lingerMs < 0 ? Number.POSITIVE_INFINITY : lingerMs)
    context = from
  }
  for (const { core } of watched) {
    if (!core) continue
    for (const endpoint of core.endpoints.open) add(endpoint, core.lingerMs, core.endpoints.context)
  }
  for (const { endpoint, context } of leaving) add(endpoint, endpoint.lingerLeftMs, context)
  departure.wait(limitMs, { afterMs: WARNING_MS, warn: () => warn(context) })
}

function warnOfLeaving(): void {
  // The others wait for their threads, or for a peer that may be sending.
  const waiting = [...leaving].find(({ endpoint }) => endpoint.hasUnsent)
  if (waiting) warn(waiting.context)
}

/** Prints zeromq.js's warning. Like zeromq.js, it cannot use process.emitWarning this late. */
function warn(context: Context | undefined): void {
  const advice = context?.blocky ? " Set 'context.blocky = false' to change this behaviour." : ""
  print(
    `(node:${process.pid}) WARNING: Waiting for queued ZeroMQ messages to be delivered.${advice}\n`,
  )
}
