/** Shrinks a scenario that fails, as long as it fails in the same way. */
import type { Compiled } from "./engine.js"
import { play } from "./run.js"
import type { Scenario, SocketSpec } from "./scenario.js"

/** Maximum number of attempts, and maximum time for them in milliseconds. */
const ATTEMPTS_MAX = 400
const TIME_MAX_MS = 20_000

/** Yields smaller scenarios, the smallest first. */
function* smaller(scenario: Scenario): Generator<Scenario> {
  const { sockets, actions, hostile, network } = scenario
  for (const socket of sockets) {
    // One end of a proxy is useless without the other.
    const rest = sockets.filter(
      (other) => other !== socket && !(socket.isForwarded && other.isForwarded),
    )
    const stays = (number: number) => rest.some((other) => other.number === number)
    yield {
      ...scenario,
      sockets: rest.map((other) => ({
        ...other,
        endpoints: other.endpoints.filter(({ to }) => to === undefined || stays(to)),
      })),
      actions: actions.filter((action) => stays(action.socket)),
      hostile: hostile.filter(({ to }) => stays(to)),
    }
  }
  for (const action of actions)
    yield { ...scenario, actions: actions.filter((other) => other !== action) }
  for (const peer of hostile)
    yield { ...scenario, hostile: hostile.filter((other) => other !== peer) }
  for (const name of ["reset", "fin", "pause", "refused"] as const)
    if (network[name] > 0) yield { ...scenario, network: { ...network, [name]: 0 } }
  const { curve, ...unencrypted } = scenario
  if (curve) {
    yield unencrypted
    if (curve.tampered > 0) yield { ...scenario, curve: { ...curve, tampered: 0 } }
    if (curve.wrong.length > 0) yield { ...scenario, curve: { ...curve, wrong: [] } }
  }
  if (scenario.unannounced) yield { ...scenario, unannounced: undefined }
  if (scenario.plainProcess !== undefined) yield { ...scenario, plainProcess: undefined }
  const needsPlain =
    scenario.plainProcess !== undefined ||
    sockets.some(({ endpoints }) => endpoints.some(({ format }) => format === "zstd"))
  for (const [i, socket] of sockets.entries())
    for (const simpler of simplerSockets(socket, needsPlain))
      yield { ...scenario, sockets: sockets.map((other, j) => (i === j ? simpler : other)) }
  if (network.pieceBytes < 65_536)
    yield { ...scenario, network: { ...network, pieceBytes: 65_536, readBytes: 65_536 } }
  if (network.jitterMs > 0) yield { ...scenario, network: { ...network, jitterMs: 0 } }
  if (scenario.atomicShare > 0) yield { ...scenario, atomicShare: 0 }
  if (scenario.clockMs > 0) yield { ...scenario, clockMs: 0 }
}

/** @param needsPlain whether peers speak plain tcp:// or another format, which endpoints have to accept then. */
function* simplerSockets(socket: SocketSpec, needsPlain: boolean): Generator<SocketSpec> {
  const { send, receive, endpoints, options } = socket
  if (send && send.count > 1) {
    yield { ...socket, send: { ...send, count: send.count >> 1 } }
    yield { ...socket, send: { ...send, count: send.count - 1 } }
  }
  if (send && send.maxParts > 1) yield { ...socket, send: { ...send, maxParts: 1 } }
  if (send?.scribbles) yield { ...socket, send: { ...send, scribbles: false } }
  if (send?.eager) yield { ...socket, send: { ...send, eager: false } }
  if (send && send.startMs > 0) yield { ...socket, send: { ...send, startMs: 0 } }
  if (receive && receive.computeMs > 0) yield { ...socket, receive: { ...receive, computeMs: 0 } }
  if (receive && receive.pauseMs >= 0) yield { ...socket, receive: { ...receive, pauseMs: -1 } }
  if (receive && receive.startMs > 0) yield { ...socket, receive: { ...receive, startMs: 0 } }
  if (socket.listens) yield { ...socket, listens: false }
  if (socket.process > 0) yield { ...socket, process: 0 }
  for (const endpoint of endpoints) {
    if (endpoint.kind === "connect" && endpoints.length > 1)
      yield { ...socket, endpoints: endpoints.filter((other) => other !== endpoint) }
    for (const name of Object.keys(endpoint.options)) {
      if (name === "acceptPlain" && needsPlain) continue
      const { [name as "thread"]: _, ...rest } = endpoint.options
      const plain = { ...endpoint, options: rest }
      yield { ...socket, endpoints: endpoints.map((other) => (other === endpoint ? plain : other)) }
    }
  }
  for (const name of Object.keys(options)) {
    const { [name]: _, ...rest } = options
    yield { ...socket, options: rest }
  }
}

/**
 * Returns a scenario that breaks the same rule, and from which nothing can be removed.
 *
 * @param sound code without the fault that was injected, with which the scenario must not fail.
 */
export function shrink(
  scenario: Scenario,
  rule: string,
  compiled: Compiled,
  sound?: Compiled,
): Scenario {
  let small = scenario
  const until = Date.now() + TIME_MAX_MS
  let attempts = 0
  for (let goOn = true; goOn; ) {
    goOn = false
    for (const candidate of smaller(small)) {
      if (++attempts > ATTEMPTS_MAX || Date.now() > until) return small
      if (play(candidate, compiled).failure?.rule !== rule) continue
      if (sound && play(candidate, sound).failure) continue
      small = candidate
      goOn = true
      break
    }
  }
  return small
}

/** Describes a scenario in a few lines. */
export function describe({
  sockets,
  actions,
  hostile,
  network,
  curve,
  plainProcess,
  atomicShare,
  clockMs,
}: Scenario): string {
  const lines = sockets.map(
    ({ number, type, process, options, endpoints, send, receive, topics, listens }) => {
      const ends = endpoints.map(
        ({ kind, to, index, atMs, options }) =>
          `${kind}${kind === "connect" ? ` ${to}.${index} at ${atMs}` : ""} ${short(options)}`,
      )
      const programs = [send && `sends ${short(send)}`, receive && `receives ${short(receive)}`]
      const more = [
        topics.length > 0 && short(topics),
        listens && "listens",
        process > 0 && `process ${process}`,
      ]
      return `  ${type} ${number} ${short(options)} ${[...ends, ...programs, ...more].filter(Boolean).join("; ")}`
    },
  )
  return [
    "",
    ...lines,
    ...actions.map((action) => `  ${short(action)}`),
    ...hostile.map((peer) => `  hostile ${short(peer)}`),
    ...(curve ? [`  curve ${short(curve)}`] : []),
    ...(plainProcess === undefined ? [] : [`  process ${plainProcess} speaks plain tcp://`]),
    `  network ${short(network)} atomicShare ${atomicShare} clockMs ${clockMs}`,
  ].join("\n")
}

const short = (value: unknown): string =>
  JSON.stringify(value, (_, item) => (item?.type === "Buffer" ? `${item.data.length} bytes` : item))
