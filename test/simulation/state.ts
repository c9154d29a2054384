import type { Process } from "./engine.js"
import type { Link, Network } from "./network.js"
import { addressOf, type Program } from "./programs.js"
import type { Scenario, SocketSpec } from "./scenario.js"
import type { World } from "./world.js"

/** All there is in a run, for checkers to look at. */
export interface Run {
  readonly scenario: Scenario
  readonly world: World
  readonly network: Network
  readonly processes: readonly Process[]
  readonly programs: readonly Program[]
  /** Whether no connection ends before its time, so that nothing may be lost with it. */
  readonly isCalm: boolean
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
])

export function isCalm({ actions, network, sockets, memoryShare, auth }: Scenario): boolean {
  return (
    !auth?.denied.length &&
    // A thread without memory ends the connection.
    (memoryShare === 0 || !sockets.some(usesThreads)) &&
    !actions.some(({ kind }) => ENDING.has(kind)) &&
    network.reset === 0 &&
    network.fin === 0 &&
    sockets.every(({ options }) => options.heartbeatInterval === undefined)
  )
}

export const usesThreads = ({ endpoints }: SocketSpec): boolean =>
  endpoints.some(({ options }) => options.thread === true)

/** Whether this socket is let in nowhere. */
export function isDenied({ auth }: Scenario, { number }: SocketSpec): boolean {
  return auth?.denied.includes(number) === true
}

/** Whether a program ends connections of this socket. */
export function mayEnd({ actions, sockets }: Scenario, socket: number): boolean {
  const isForwarded = (number: number) => sockets.find((one) => one.number === number)?.isForwarded
  // Whichever socket of a proxy is closed, both are.
  const isIt = (other: number) => other === socket || (isForwarded(other) && isForwarded(socket))
  return actions.some(({ kind, socket: other }) => {
    return kind === "kill" || (ENDING.has(kind) && isIt(other) === true)
  })
}

/** The sockets at both ends of a link; undefined where a hostile peer has one of them. */
export function endsOf(
  run: Run,
  link: Link,
): { dialling: SocketSpec; accepting: SocketSpec } | undefined {
  const { sockets } = run.scenario
  const dialling = sockets.find(({ number }) => addressOf(number) === link.accepting.remoteAddress)
  const at = Math.floor((link.accepting.localPort - 10_000) / 10)
  const accepting = sockets.find(({ number }) => number === at)
  return dialling && accepting && { dialling, accepting }
}

/** Whether a socket has a connection now. */
export function isConnected(run: Run, socket: SocketSpec): boolean {
  for (const link of run.network.links) {
    if (link.isOver || link.firstCloser) continue
    const ends = endsOf(run, link)
    if (ends?.dialling === socket || ends?.accepting === socket) return true
  }
  return false
}

/** Whether a program ends a socket that this one is connected to, or this one. */
export function mayLoseItsPeers({ scenario }: Run, { number, endpoints }: SocketSpec): boolean {
  return (
    mayEnd(scenario, number) || endpoints.some(({ to }) => to !== undefined && mayEnd(scenario, to))
  )
}
