/** A run: plays a scenario to its end, and checks all rules. */
import type { Checker } from "./checker.js"
import { Connections } from "./checkers/connections.js"
import { Counters } from "./checkers/counters.js"
import { Delivery } from "./checkers/delivery.js"
import { Dictionaries } from "./checkers/dictionaries.js"
import { Encryption } from "./checkers/encryption.js"
import { Leftovers } from "./checkers/leftovers.js"
import { OldNews } from "./checkers/old-news.js"
import { Pipes } from "./checkers/pipes.js"
import { OnTheWay } from "./curve.js"
import { type Compiled, Process } from "./engine.js"
import { attack, HOSTILE } from "./hostile.js"
import type { Head } from "./messages.js"
import { type Fault, Network, Socket, type Tamperer, type Treatment } from "./network.js"
import { OUT_OF_MEMORY, Program } from "./programs.js"
import { Random } from "./random.js"
import type { Action, CurveSpec, NetworkSpec, Scenario, SocketSpec } from "./scenario.js"
import { endsOf, isCalm, mayRefuse, type Run } from "./state.js"
import { type EventLoop, World } from "./world.js"
import { makeHandler } from "./zap.js"

/** The time at which programs stop pausing and connections stop failing, in simulated milliseconds. */
const BUSY_MS = 100
/** Milliseconds without an event after which a run is quiet. */
const QUIET_MS = 700
const QUIET_ROUNDS = 200
/** More bytes than heartbeats have in that time, and fewer than the slowest link carries. */
const ROUND_BYTES = 20_000
/** More bytes than a handshake has in a direction. */
const HANDSHAKE_BYTES = 1000
/** Milliseconds that sockets have to end, including threads, linger and farewells. */
const END_MS = 6000

/** The result of a run. */
export interface Outcome {
  failure: { rule: string; detail: string } | undefined
  /** A hash of the log, which is always the same for a seed. */
  hash: number
  steps: number
  messages: number
  lines: readonly string[]
}

/** The network for hostile peers, without faults, because they are trouble enough. */
const KIND: NetworkSpec = {
  latencyMs: 0.1,
  jitterMs: 0.1,
  capacityBytes: 100_000,
  pieceBytes: 20_000,
  readBytes: 20_000,
  reset: 0,
  fin: 0,
  pause: 0,
  refused: 0,
  faultBytes: 1,
}

let current: World | undefined

/** Attributes an unhandled rejection to the run that caused it. */
export function catchRejections(): void {
  process.on("unhandledRejection", (error) => {
    const { stack } = error as Error
    if (current) current.fail("nothing is thrown that nobody catches", stack ?? String(error))
    else throw error
  })
}

/** Maximum number of MESSAGEs of a direction before one that is tampered with. */
const UNTOUCHED_MAX = 20

function treat(
  spec: NetworkSpec,
  random: Random,
  isFaulty: boolean,
  { curve, unannounced }: Partial<Scenario>,
): Treatment {
  const { latencyMs, jitterMs, capacityBytes, pieceBytes, readBytes } = spec
  const faults: Fault[] = []
  for (const kind of ["reset", "fin", "pause"] as const) {
    if (!isFaulty || !random.chance(spec[kind])) continue
    faults.push({
      kind,
      direction: random.pick(["out", "in"] as const),
      afterBytes: random.skewed(1, spec.faultBytes),
      ms: random.between(1, 50),
    })
  }
  return {
    traits: { latencyMs, jitterMs, capacityBytes, pieceBytes, readBytes },
    refused: isFaulty && random.chance(spec.refused),
    faults,
    tampered: unannounced
      ? { direction: unannounced, by: new Unannounced() }
      : isFaulty && curve
        ? tamper(curve, random)
        : undefined,
  }
}

/** Makes a peer one that announces no revision, as those in other languages. */
class Unannounced implements Tamperer {
  readonly endsAt = undefined

  pass(bytes: Uint8Array): Uint8Array {
    const all = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length)
    for (const name of ["X-Lz4-Revision", "X-Zstd-Revision"]) {
      const at = all.indexOf(name)
      if (at >= 0) bytes[at] = "Y".charCodeAt(0)
    }
    return bytes
  }
}

function tamper({ tampered, tampering }: CurveSpec, random: Random): Treatment["tampered"] {
  if (tampered === 0 || !random.chance(tampered)) return undefined
  const untouched = random.skewed(1, UNTOUCHED_MAX) - 1
  return {
    direction: random.pick(["out", "in"] as const),
    by: new OnTheWay(tampering, untouched, random.fork(1)),
  }
}

export function play(scenario: Scenario, compiled: Compiled, keepsLog = false): Outcome {
  const world = new World(keepsLog)
  current = world
  const random = new Random(scenario.seed, 11)
  const network = new Network(world, random.fork(1), (link, _port, from) =>
    from.startsWith(HOSTILE)
      ? treat(KIND, link, world.now < BUSY_MS, {})
      : treat(scenario.network, link, world.now < BUSY_MS, scenario),
  )
  const { atomicShare, clockMs } = scenario
  if (scenario.memoryShare > 0) world.expected.add(OUT_OF_MEMORY)
  const names = [...new Set(scenario.sockets.map((socket) => socket.process))]
  const processes = names.map(
    (name) =>
      new Process(world, network, random.fork(100 + name), compiled, {
        name: `process ${name}`,
        atomicShare,
        clockMs,
        memoryShare: scenario.memoryShare,
        limits: scenario.limits,
        isPlain: name === scenario.plainProcess,
      }),
  )
  const checkers: Checker[] = []
  const programs: Program[] = []
  const run: Run = {
    ...{ scenario, world, network, processes, programs },
    isCalm: isCalm(scenario),
    actedMs: new Map(),
  }
  checkers.push(
    new Delivery(run),
    new Pipes(run),
    new Connections(run),
    new Counters(run),
    ...(scenario.curve ? [new Encryption(run, scenario.curve, compiled)] : []),
    new Dictionaries(run),
    new Leftovers(run),
    new OldNews(run),
  )
  Socket.watcher = {
    took: (...args) => {
      for (const checker of checkers) checker.took?.(...args)
    },
    wroteUnaware: (...args) => {
      for (const checker of checkers) checker.wroteUnaware?.(...args)
    },
    wroteInVain: (...args) => {
      for (const checker of checkers) checker.wroteInVain?.(...args)
    },
  }
  world.afterEvent = () => {
    for (const checker of checkers) checker.between?.()
  }
  const { auth, sockets } = scenario
  for (const [i, { loop, package: code }] of processes.entries())
    Object.assign(code.context, {
      zapHandler:
        auth && makeHandler(auth, scenario.curve !== undefined, sockets, loop, random.fork(60 + i)),
    })
  begin(run, names, checkers)
  if (scenario.hostile.length > 0) {
    const loop = world.addLoop("hostile", random.fork(50))
    for (const [i, spec] of scenario.hostile.entries()) {
      const target = scenario.sockets.find(({ number }) => number === spec.to)
      if (target) attack(spec, target.partner, network, loop, i, compiled)
    }
  }
  finish(run, checkers)
  world.runMicrotasks()
  Socket.watcher = undefined
  current = undefined
  compiled.reclaim(world.failure === undefined)
  return {
    failure: world.failure,
    hash: world.hash,
    steps: world.steps,
    messages: programs.reduce((sum, program) => sum + program.received, 0),
    lines: world.lines ?? [],
  }
}

/** Returns whether more bytes are travelling or unread than heartbeats explain. */
function isBusy({ handles }: Network): boolean {
  let bytes = 0
  for (const { in: from } of handles) if (from) bytes += from.travelling + from.arrivedBytes
  return bytes > 20 * handles.size
}

/** Returns a number that changes while messages or commands pass through pipes, those of a proxy too. */
function passed(processes: Run["processes"]): number {
  let sum = 0
  for (const { inside } of processes)
    for (const { pipes } of inside)
      for (const { internals, out } of pipes) sum += out.credit.sent + internals.inbound.length
  return sum
}

/** Returns the number of bytes that all connections have carried after their handshakes. */
function bytesOn({ links }: Network): number {
  const after = ({ taken }: { taken: number }) => Math.max(0, taken - HANDSHAKE_BYTES)
  return links.reduce((sum, link) => sum + after(link.out) + after(link.in), 0)
}

function begin(run: Run, names: readonly number[], checkers: readonly Checker[]): void {
  const { scenario, world, network, processes, programs } = run
  for (const [i, process] of processes.entries()) {
    world.runScript(process.loop, () => {
      const own: Program[] = []
      for (const spec of scenario.sockets)
        if (spec.process === names[i])
          own.push(new Program(spec, process, world, checkers, scenario))
      ;(programs as Program[]).push(...own)
      for (const program of own) program.start()
      for (const front of own) {
        const back = own.find(({ spec }) => spec.number === front.spec.forwardsTo)
        if (back) front.forward(back)
      }
      for (const action of scenario.actions) {
        const program = own.find(({ spec }) => spec.number === action.socket)
        if (!program) continue
        const act = () => {
          run.actedMs.set(action, world.now)
          const { kind } = action
          if (kind === "reset") for (const link of network.links) link.reset("network")
          else if (kind === "cut" || kind === "end") cut(run, program.spec, kind)
          else program.act(action)
        }
        process.loop.setTimeout(() => inPhase(process.loop, action, act), action.atMs)
      }
    })
  }
}

/** Resets the connections of a socket, or lets others find their end. */
function cut(run: Run, spec: SocketSpec, how: "cut" | "end"): void {
  for (const link of run.network.links) {
    const ends = endsOf(run, link)
    if (ends?.dialling !== spec && ends?.accepting !== spec) continue
    if (how === "cut") link.reset("network")
    else {
      const to = ends.dialling === spec ? link.out : link.in
      if (!to.ended && !link.isOver) link.wasCut = true
      to.end()
    }
  }
}

/** Calls a function in the phase of the event loop in which an action begins. */
function inPhase(loop: EventLoop, { burst }: Action, act: () => void): void {
  // A thread in whose turn this happens would have to wait for its end.
  const begin = () => {
    if (burst && loop.world.isNested) loop.post(begin, 1)
    else act()
  }
  if (burst?.phase === "poll") loop.post(begin)
  else if (burst?.phase === "check") loop.setImmediate(begin)
  else begin()
}

/** Makes publishers send in a quiet phase, to check that connected subscribers are subscribed. */
function probe(
  run: Run,
  checkers: readonly Checker[],
  settle: (isDone: () => boolean) => void,
): void {
  const { world, programs } = run
  if (!programs.some(({ spec }) => spec.type === "Subscriber")) return
  const since = world.now
  const sent: [Program, Head[]][] = []
  let probing = 0
  for (const program of programs) {
    const { type } = program.spec
    if ((type !== "Publisher" && type !== "XPublisher") || program.isClosed) continue
    probing++
    world.runScript(program.process.loop, () => {
      program.probe().then((heads) => sent.push([program, heads]))
    })
  }
  settle(() => sent.length === probing)
  for (const [{ spec }, heads] of sent)
    for (const checker of checkers) checker.probed?.(spec, heads, since)
}

function finish(run: Run, checkers: readonly Checker[]): void {
  const { world, programs, processes, network } = run
  world.runUntil(BUSY_MS)
  for (const checker of checkers) checker.busy?.()
  for (const { process } of programs)
    world.runScript(process.loop, () => {
      for (const program of programs) if (program.process === process) program.hurry()
    })
  // A large message on a slow link takes longer than a round, and a PUB receives what no program
  // gets. A peer that is refused may dial forever, which is no progress.
  const progress = () =>
    programs.reduce(
      (sum, { accepted, received, socket }) =>
        sum + accepted + received + socket.lz4.stats.received.messages,
      (mayRefuse(run.scenario) ? 0 : network.links.length) +
        Math.floor(bytesOn(network) / ROUND_BYTES) +
        passed(processes),
    )
  // As in libzmq, a PAIR does not read a new connection of its partner that is made before the end
  // of the old one is noticed. Neither does a ROUTER, if the peer has a routing id of its own. A
  // proxy without a peer behind it reads nothing, and a REQ nothing that strangers send without a request.
  const mayStay =
    mayRefuse(run.scenario) ||
    run.scenario.sockets.some(
      ({ type, options, isForwarded }) =>
        type === "Pair" ||
        (type === "Request" && run.scenario.hostile.length > 0) ||
        options.routingId !== undefined ||
        isForwarded === true,
    )
  // A slow processor takes longer for the same work.
  const slowness = 1 + 4 * run.scenario.clockMs
  const quietMs = QUIET_MS * slowness
  const settle = (isDone = () => true) => {
    for (let round = 0; !world.failure; round++) {
      const before = progress()
      world.runUntil(world.now + quietMs)
      if (isDone() && progress() === before && (mayStay || !isBusy(network))) break
      if (round >= QUIET_ROUNDS) world.fail("a run ends", `after ${world.now} ms`)
    }
  }
  settle()
  if (!world.failure && !(mayStay && isBusy(network)))
    for (const checker of checkers) checker.quiet?.()
  if (!world.failure) probe(run, checkers, settle)
  if (world.failure) return
  for (const { process, spec } of programs)
    world.runScript(process.loop, () => {
      for (const program of programs)
        if (program.process === process && program.spec === spec) program.close()
    })
  world.runUntil(world.now + END_MS * slowness)
  if (!world.failure) for (const checker of checkers) checker.end?.()
}
