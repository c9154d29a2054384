import type { Process } from "./engine.js"
import type { Link, Network } from "./network.js"
import { addressOf, type Program } from "./programs.js"
import type { Action, Scenario, SocketSpec } from "./scenario.js"
import type { World } from "./world.js"

/** The whole state of a run, for checkers. */
export interface Run {
  readonly scenario: Scenario
  readonly world: World
  readonly network: Network
  readonly processes: readonly Process[]
  readonly programs: readonly Program[]
  /** Whether no connection ends early, so that no message may be lost with one. */
  readonly isCalm: boolean
  /** When each action was done, which a busy event loop delays, in milliseconds. */
  readonly actedMs: Map<Action, number>
}

/** Actions that end connections. */
const ENDING: ReadonlySet<string> = new Set([
  "close",
  "disconnect",
  "unbind",
  "rebind",
  "reconnect",
  "reset",
  "kill",
  "cut",
  "end",
])

/** Returns whether an action ends connections. */
export const ends = ({ kind, burst }: Action): boolean =>
  ENDING.has(kind) || burst?.then === "close"

export function isCalm(scenario: Scenario): boolean {
  const { actions, network, sockets, memoryShare, auth, curve } = scenario
  return (
    !auth?.denied.length &&
    !curve?.wrong.length &&
    !curve?.tampered &&
    // A thread without memory ends the connection, and so does one that cannot encrypt.
    (memoryShare === 0 || (!sockets.some(usesThreads) && !curve)) &&
    !actions.some(ends) &&
    network.reset === 0 &&
    network.fin === 0 &&
    sockets.every(({ options }) => options.heartbeatInterval === undefined)
  )
}

export const usesThreads = ({ endpoints }: SocketSpec): boolean =>
  endpoints.some(({ options }) => options.thread === true)

/** Returns whether every peer refuses this socket. */
export function isDenied({ auth, curve }: Scenario, { number }: SocketSpec): boolean {
  return auth?.denied.includes(number) === true || curve?.wrong.includes(number) === true
}

/** Returns whether some sockets are refused, or asked who they are. */
export function mayRefuse({ auth, curve }: Scenario): boolean {
  return auth !== undefined || (curve?.wrong.length ?? 0) > 0
}

/** Returns whether a program ends connections of this socket. */
export function mayEnd({ actions, sockets }: Scenario, socket: number): boolean {
  const isForwarded = (number: number) => sockets.find((one) => one.number === number)?.isForwarded
  // If one socket of a proxy is closed, both are.
  const isIt = (other: number) => other === socket || (isForwarded(other) && isForwarded(socket))
  return actions.some((action) => {
    const { kind, socket: other } = action
    // The network ends connections then, and programs none.
    if (kind === "reset" || kind === "cut" || kind === "end") return false
    return kind === "kill" || (ends(action) && isIt(other) === true)
  })
}

/** Returns the number of the socket that binds a port. */
export const boundBy = (port: number): number => Math.floor((port - 10_000) / 10)

/** Returns the sockets at both ends of a link; undefined if one end is a hostile peer. */
export function endsOf(
  run: Run,
  link: Link,
): { dialling: SocketSpec; accepting: SocketSpec } | undefined {
  const { sockets } = run.scenario
  const dialling = sockets.find(({ number }) => addressOf(number) === link.accepting.remoteAddress)
  const at = boundBy(link.accepting.localPort)
  const accepting = sockets.find(({ number }) => number === at)
  return dialling && accepting && { dialling, accepting }
}

/** Returns whether one of the sockets of a link speaks plain tcp://. */
export function isPlain(run: Run, ends: { dialling: SocketSpec; accepting: SocketSpec }): boolean {
  const { plainProcess } = run.scenario
  return [ends.dialling, ends.accepting].some(({ process }) => process === plainProcess)
}

/** Returns whether a socket has a connection now. */
export function isConnected(run: Run, socket: SocketSpec): boolean {
  for (const link of run.network.links) {
    if (link.isOver || link.firstCloser) continue
    const ends = endsOf(run, link)
    if (ends?.dialling === socket || ends?.accepting === socket) return true
  }
  return false
}

/** Returns whether a program ends this socket, or one that it is connected to. */
export function mayLoseItsPeers({ scenario }: Run, { number, endpoints }: SocketSpec): boolean {
  return (
    mayEnd(scenario, number) || endpoints.some(({ to }) => to !== undefined && mayEnd(scenario, to))
  )
}
