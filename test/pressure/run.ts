/** A hub and its peers in separate processes, over TCP, and the rules that must hold. */
import { type ChildProcess, fork } from "node:child_process"
import { once } from "node:events"
import { fileURLToPath } from "node:url"
import { afterAll, onTestFinished } from "vitest"
import type { EndpointOptions, Traffic } from "zeromq-lz4"

import type { Contents } from "./parts.mjs"
import type { Arrival, Calls, EndSpec, How, Order, Outgoing, Status } from "./peer.mjs"
import type { Shape, Side } from "./shapes.js"

export interface Run extends Contents {
  shape: Shape
  peers: number
  /** Number of processes that the peers share; one for each by default. */
  processes?: number
  /** High-water marks, in messages. */
  receiveMark: number
  sendMark: number
  how: How
  /** The scheme of all endpoints; "lz4+tcp" by default. */
  scheme?: string
  hubOptions?: EndpointOptions
  peerOptions?: EndpointOptions
  /** Whether nothing is received before all is sent, or no more can be sent. */
  late?: boolean
  binds: "hub" | "peers"
  /** Number of messages in each stream. */
  count: number
  /** Visitors that come and go, each with a stream of this number of messages. */
  visitors?: { streams: number[]; count: number }
  /** Whether connections may be cut. The hub must be a ROUTER, which identifies each. */
  cuts?: boolean
  /** Returns the endpoints to which peers connect instead of the hub's. */
  through?: (endpoint: string, peer: number) => Promise<string>
  /** Runs concurrently with the messages. */
  meanwhile?: (endpoint: string) => Promise<void>
}

export interface Outcome {
  problems: string[]
  /** Messages received over connections that were cut. */
  arrivals: Arrival[]
}

const POLL_MS = 5
/**
 * Number of polls without events after which a run is stuck. For each of them, the event loops of all processes had
 * their turn, however busy the machine is.
 */
const STALLED_POLLS = 20_000
const POLLS_AT_REST = 10
const ERRORS_MAX = 2000
/** First number of the hub's streams; those of visitors start at twice that. */
const HUB_STREAMS = 1000
export const VISITOR_STREAMS = 2 * HUB_STREAMS

const program = fileURLToPath(new URL("peer.mjs", import.meta.url))
const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))

/** A process that executes one call at a time. */
class Peer {
  readonly #process: ChildProcess
  #errors = ""
  readonly #ended: Promise<never>

  constructor() {
    this.#process = fork(program, {
      execArgv: ["--no-warnings"], // of drafts
      stdio: ["ignore", "inherit", "pipe", "ipc"],
      serialization: "advanced",
    })
    this.#process.stderr?.on("data", (text) => {
      this.#errors = (this.#errors + text).slice(-ERRORS_MAX)
    })
    this.#ended = once(this.#process, "close").then(([code, signal]) => {
      throw new Error(`a process ended with ${signal ?? code}: ${this.#errors}`)
    })
    this.#ended.catch(() => {})
  }

  async call<Name extends keyof Calls>(
    call: Name,
    argument?: Parameters<Calls[Name]>[0],
  ): Promise<Awaited<ReturnType<Calls[Name]>>> {
    const answer = once(this.#process, "message")
    this.#process.send({ call, argument })
    const [{ result, error }] = await Promise.race([answer, this.#ended])
    if (error) throw new Error(error)
    return result
  }

  kill(): Promise<unknown> {
    this.#process.kill("SIGKILL")
    return this.#ended.catch(() => {})
  }
}

/** Processes that are reused until one fails. */
let pool: Peer[] = []

async function killAll(): Promise<void> {
  const all = pool
  pool = []
  await Promise.all(all.map((peer) => peer.kill()))
}

afterAll(killAll)

const numbers = (count: number, from = 0): number[] =>
  Array.from({ length: count }, (_, i) => from + i)

/** Returns the task of each end: the hub's, and each peer's. */
function makeSpecs(run: Run): { hub: EndSpec[]; peers: EndSpec[] } {
  const { shape, count, cuts = false, visitors } = run
  const { fromHub, before = [], group, lockstep = false, greets = false, pairs = false } = shape
  const { bytes, content, partsMax } = run
  const peers = numbers(run.peers)
  const both = {
    ...(run.scheme && { scheme: run.scheme }),
    contents: { bytes, content, partsMax: shape.singlePart ? 1 : (partsMax ?? 1) },
    ...(group === undefined ? {} : { group }),
  }
  const socket = ({ type, options = {}, dropsWhenFull }: Side) => ({
    type,
    options,
    sendMark: dropsWhenFull ? 0 : run.sendMark,
    receiveMark: run.receiveMark,
  })

  const hubSends = (streams: number[]): Outgoing[] => {
    if (fromHub === "addressed")
      return streams.map((peer) => ({
        stream: HUB_STREAMS + peer,
        count,
        before: pairs ? [] : [`peer-${peer}`],
      }))
    if (fromHub === "dealt" || fromHub === "copied")
      return [{ stream: HUB_STREAMS, count, before: [] }]
    return []
  }
  const hub = (streams: number[]): EndSpec => ({
    ...both,
    ...socket(shape.hub),
    endpointOptions: run.hubOptions ?? {},
    binds: run.binds === "hub",
    how: run.how,
    sends: hubSends(streams),
    greets: greets && !shape.toHub,
    echoes: fromHub === "echo",
    lockstep: false,
    receives: shape.toHub ? [...streams, ...(visitors?.streams ?? [])] : [],
    skips: shape.skips ?? 0,
    named: shape.named === true && !cuts,
    order: cuts ? "recorded" : "complete",
    losesPeers: cuts || visitors !== undefined,
  })

  const hears: Record<NonNullable<Shape["fromHub"]>, (peer: number) => number[]> = {
    dealt: () => [HUB_STREAMS],
    copied: () => [HUB_STREAMS],
    addressed: (peer) => [HUB_STREAMS + peer],
    echo: (peer) => [peer],
  }
  const peer = (number: number): EndSpec => ({
    ...both,
    ...socket(shape.peer),
    options: { ...shape.peer.options, ...(cuts ? {} : routingId(shape.peer.type, number)) },
    endpointOptions: run.peerOptions ?? {},
    binds: run.binds === "peers",
    how: shape.toHub ? "wait" : run.how,
    sends: shape.toHub ? [{ stream: number, count, before }] : [],
    greets: greets && shape.toHub,
    saysEnd: cuts,
    echoes: false,
    lockstep,
    receives: fromHub ? hears[fromHub](number) : [],
    skips: before.length,
    named: false,
    order: fromHub === "dealt" ? ("gaps" satisfies Order) : "complete",
    losesPeers: cuts,
  })
  return {
    hub: pairs ? peers.map((number) => hub([number])) : [hub(peers)],
    peers: peers.map(peer),
  }
}

const routingId = (type: string, peer: number) =>
  ["Dealer", "Router", "Request"].includes(type) ? { routingId: `peer-${peer}` } : {}

/** Runs one, and returns all problems. */
export async function exchange(run: Run): Promise<Outcome> {
  try {
    return await attempt(run)
  } catch (error) {
    await killAll()
    return { problems: [(error as Error).message], arrivals: [] }
  }
}

async function attempt(run: Run): Promise<Outcome> {
  const specs = makeSpecs(run)
  const processes = Math.min(run.processes ?? run.peers, run.peers)
  while (pool.length <= processes) pool.push(new Peer())
  const [hub, ...others] = pool.slice(0, processes + 1) as [Peer, ...Peer[]]
  /** Returns the ends of each process: the hub's first, then the peers' in turn. */
  const share = <T>(all: readonly T[], process: number) =>
    all.filter((_, i) => i % processes === process)
  const all = [hub, ...others]
  let before = ""
  let unchanged = 0

  /** Waits until the condition holds for the sockets of the hub and the peers, or there is a problem. */
  const until = async (isSo: (hub: Status[], peers: Status[]) => boolean): Promise<void> => {
    for (;;) {
      const [hubs = [], ...peers] = await Promise.all(all.map((one) => one.call("status")))
      const statuses = [...hubs, ...peers.flat()]
      const problems = statuses.flatMap((status) => status.problems)
      if (problems.length > 0) throw new Error(problems.join("\n"))
      if (isSo(hubs, peers.flat())) return
      const now = JSON.stringify(statuses)
      unchanged = now === before ? unchanged + 1 : 0
      before = now
      if (unchanged === STALLED_POLLS) throw new Error(`nothing happens any more: ${now}`)
      await sleep(POLL_MS)
    }
  }

  let over = false
  // Processes that a test has left in the middle are of no use to the next one.
  onTestFinished(() => (over ? undefined : killAll()))
  try {
    const [hubEndpoints = [], ...peerEndpoints] = await Promise.all([
      hub.call("open", specs.hub),
      ...others.map((one, i) => one.call("open", share(specs.peers, i))),
    ])
    const through = run.through ?? ((endpoint: string) => Promise.resolve(endpoint))
    const binding = run.binds === "hub"
    const hubEndpoint = (peer: number) =>
      hubEndpoints[run.shape.pairs ? peer : 0] as unknown as string
    const connects = binding
      ? await Promise.all(numbers(run.peers).map((peer) => through(hubEndpoint(peer), peer)))
      : []
    const bound = numbers(run.peers).map(
      (i) => peerEndpoints[i % processes]?.[Math.floor(i / processes)] as unknown as string,
    )
    const hubConnects = binding ? [] : run.shape.pairs ? bound.map((one) => [one]) : [bound]
    await hub.call("start", hubConnects)
    const perPeer = connects.map((endpoint) => [endpoint])
    await Promise.all(others.map((one, i) => one.call("start", share(perPeer, i))))

    const receive = () => Promise.all(all.map((one) => one.call("receive")))
    // Greetings have to be received first.
    const late = run.late === true && !run.shape.greets
    if (!late) await receive()
    if (run.shape.greets)
      await until((hubs, peers) =>
        run.shape.toHub
          ? hubs[0]?.greeted.length === run.peers
          : peers.every(({ greeted }) => greeted.length === 1),
      )
    await Promise.all(all.map((one) => one.call("send")))
    if (late) {
      await until(atRest())
      await receive()
    }
    const meanwhile = run.meanwhile?.(hubEndpoint(0))
    meanwhile?.catch(() => {}) // thrown below
    await until((hubs, peers) => isDone(run, hubs, peers))
    await meanwhile
    // Threads report their counts a little later.
    if (!run.cuts && !run.visitors) await until(trafficAgrees)
    const arrivals = run.cuts ? (await hub.call("arrivals")).flat() : []
    await Promise.all(all.map((one) => one.call("finish")))
    await Promise.all(all.map((one) => one.call("close")))
    return { problems: [], arrivals }
  } finally {
    over = true
  }
}

const sum = (values: number[]): number => values.reduce((a, b) => a + b, 0)
const received = (status: Status, stream: number): number => status.received[stream] ?? 0

/** Returns whether nothing has been sent for a while. On a busy machine, something may still follow. */
function atRest(): (hubs: Status[], peers: Status[]) => boolean {
  let before = ""
  let polls = 0
  return (hubs, peers) => {
    const now = JSON.stringify([hubs, peers])
    polls = now === before ? polls + 1 : 0
    before = now
    return polls === POLLS_AT_REST
  }
}

/** Returns whether all messages have been sent and received. */
function isDone(run: Run, hubs: Status[], peers: Status[]): boolean {
  const { count, shape, visitors } = run
  if (![...hubs, ...peers].every(({ sent }) => sent)) return false
  if (run.cuts) return hubs[0]?.ended.length === run.peers
  const hubStatus = (peer: number) => hubs[shape.pairs ? peer : 0] as Status
  const came = peers.every((peer, i) => {
    if (shape.toHub && received(hubStatus(i), i) !== count) return false
    if (shape.fromHub === "echo") return received(peer, i) === count
    if (shape.fromHub === "addressed") return received(peer, HUB_STREAMS + i) === count
    return shape.fromHub !== "copied" || received(peer, HUB_STREAMS) === count
  })
  if (!came) return false
  if (visitors?.streams.some((stream) => received(hubStatus(0), stream) !== visitors.count))
    return false
  return (
    shape.fromHub !== "dealt" || sum(peers.map((peer) => received(peer, HUB_STREAMS))) === count
  )
}

/** Returns whether one side's sent counts equal the other's received counts. */
function trafficAgrees(hubs: Status[], peers: Status[]): boolean {
  const total = (statuses: Status[], way: "sent" | "received"): Traffic => ({
    messages: sum(statuses.map(({ stats }) => stats[way].messages)),
    plainBytes: sum(statuses.map(({ stats }) => stats[way].plainBytes)),
    wireBytes: sum(statuses.map(({ stats }) => stats[way].wireBytes)),
  })
  const same = (from: Status[], to: Status[]) =>
    JSON.stringify(total(from, "sent")) === JSON.stringify(total(to, "received"))
  return same(hubs, peers) && same(peers, hubs)
}
