/**
 * Rules for programs that keep the event loop from its polls: what is sent afterwards goes to nobody whose
 * end the system knew of by then.
 */
import type { Checker } from "../checker.js"
import { type Head, readHead } from "../messages.js"
import type { Handle, Link, Socket } from "../network.js"
import type { Program } from "../programs.js"
import { hasAssignedId, type SocketSpec, type TypeName } from "../scenario.js"
import { endsOf, ends as isEnd, mayEnd, type Run, usesThreads } from "../state.js"

/** Types that send each message to one of their peers, and lose none that a connection has not taken. */
const CHOOSES: readonly TypeName[] = ["Push", "Scatter", "Dealer", "Client", "Request"]
/** Maximum age of news of which decisions need not know, in milliseconds: those of two turns. */
const OLD_MS = 16
/** Readings of the clock in that time, each of which takes long on a slow machine. */
const READINGS = 40
/** More of them for each link. */
const LINK_READINGS = 4
/** Milliseconds in which a thread tells the program's of what it has read. */
const THREAD_MS = 10
/** More messages than a program sends before it flushes. */
const MESSAGES_MAX = 200
/** Milliseconds in which an action that has begun ends connections. */
const ACTS_MS = 1
/** Frames of commands are not messages. */
const COMMAND = 4

interface Sent {
  readonly head: Head
  readonly sinceMs: number
  fate: "sending" | "accepted" | "refused"
  isReceived: boolean
}

export class OldNews implements Checker {
  readonly #run: Run
  /** The messages of each socket. */
  readonly #sent = new Map<number, Sent[]>()

  constructor(run: Run) {
    this.#run = run
  }

  get #oldMs(): number {
    const { scenario, network } = this.#run
    // A poll may have data of all of them.
    const readings = READINGS + LINK_READINGS * network.links.length
    return OLD_MS + readings * scenario.clockMs
  }

  wroteUnaware(socket: Socket, bytes: Uint8Array, endSince: number): void {
    const { world, scenario, processes, network } = this.#run
    // A thread does nothing but read and write, as those of libzmq do.
    if (!processes.some(({ loop }) => loop === socket._handle?.loop)) return
    // A command that is encrypted cannot be told from a message.
    const beats = scenario.sockets.some(({ options }) => options.heartbeatInterval !== undefined)
    if (scenario.curve && beats) return
    const ageMs = world.now - endSince
    if (ageMs <= this.#oldMs || ((bytes[0] ?? COMMAND) & COMMAND) !== 0) return
    // What a program that computes in every turn sends does not wait for long.
    if (this.#isAlwaysBusy(socket) && endSince > (socket._handle as Handle).loop.polledAt) return
    // Who answers what has just been read loses nothing, as nobody else would get the answer.
    const handle = socket._handle as Handle
    const link = network.links.find(({ accepting, dialling }) =>
      [accepting, dialling].includes(handle),
    )
    const endsWithIt = handle === link?.accepting || (link && this.#isImmediate(link))
    if (endsWithIt && world.now - handle.readMs <= this.#oldMs) return
    world.fail(
      "nothing is sent to who is known to have gone",
      `${bytes.length} bytes on ${socket.label}, which ended ${ageMs.toFixed(1)} ms ago`,
    )
  }

  /** Whether a program of the same thread computes with each message that it receives. */
  #isAlwaysBusy(socket: Socket): boolean {
    return this.#run.programs.some(
      ({ process, spec }) =>
        process.loop === socket._handle?.loop && (spec.receive?.computeMs ?? 0) > 0,
    )
  }

  #isImmediate(link: Link): boolean {
    return endsOf(this.#run, link)?.dialling.options.immediate === true
  }

  // -- Messages --------------------------------------------------------------------

  #of(number: number): Sent[] {
    let sent = this.#sent.get(number)
    if (!sent) {
      sent = []
      this.#sent.set(number, sent)
    }
    return sent
  }

  sending({ number }: SocketSpec, head: Head): void {
    const sinceMs = this.#run.world.now
    this.#of(number)[head.sequence] = { head, sinceMs, fate: "sending", isReceived: false }
  }

  accepted(socket: SocketSpec, { sequence }: Head): void {
    const sent = this.#of(socket.number)[sequence] as Sent
    sent.fate = "accepted"
    this.#checkReachable(socket, sent)
  }

  refused({ number }: SocketSpec, { sequence }: Head): void {
    ;(this.#of(number)[sequence] as Sent).fate = "refused"
  }

  received(_: SocketSpec, parts: readonly Buffer[]): void {
    const head = readHead(parts)
    const sent = head && this.#of(head.sender)[head.sequence]
    if (sent) sent.isReceived = true
  }

  flushed({ type, number }: SocketSpec, heads: readonly Head[]): void {
    // Calls that wait for a turn of the event loop have not sent anything yet.
    if (this.#run.scenario.limits.operations <= MESSAGES_MAX) return
    for (const { sequence } of heads)
      if (this.#of(number)[sequence]?.fate === "sending")
        this.#run.world.fail(
          "flush() waits for all that was sent before",
          `${type} ${number}: ${sequence} has been neither sent nor refused`,
        )
  }

  // -- Who has gone ----------------------------------------------------------------

  /** Returns the ends of all connections that a socket has had. */
  #handlesOf(spec: SocketSpec): [Link, Handle][] {
    const handles: [Link, Handle][] = []
    for (const link of this.#run.network.links) {
      const ends = endsOf(this.#run, link)
      if (ends?.dialling === spec) handles.push([link, link.dialling])
      if (ends?.accepting === spec) handles.push([link, link.accepting])
    }
    return handles
  }

  /**
   * Returns the time since when the event loop can know that a connection is over; undefined if it is not
   * over. It never can if the connection is not read to its end.
   */
  #overSince(spec: SocketSpec, link: Link, handle: Handle): number | undefined {
    const { endSince, closedMs } = handle
    const isOver = link.isOver || link.wasCut || link.firstCloser !== undefined
    if (!isOver) return undefined
    if (usesThreads(spec)) return closedMs + THREAD_MS
    return Math.min(endSince ?? closedMs, closedMs)
  }

  /** A ROUTER with `mandatory` knows who has gone. */
  #checkReachable(spec: SocketSpec, { head, sinceMs }: Sent): void {
    const { type, number, options, endpoints } = spec
    if (type !== "Router" || options.mandatory !== true) return
    if (endpoints.some(({ kind }) => kind === "connect")) return
    let isKnown = false
    for (const [link, handle] of this.#handlesOf(spec)) {
      if (endsOf(this.#run, link)?.dialling.number !== head.to) continue
      const over = this.#overSince(spec, link, handle)
      if (over === undefined || over + this.#oldMs > sinceMs) return
      isKnown = true
    }
    if (isKnown)
      this.#run.world.fail(
        "who is known to have gone is not reachable",
        `Router ${number} accepts ${head.sequence} for ${head.to}`,
      )
  }

  // -- Nothing is lost -------------------------------------------------------------

  quiet(): void {
    const { scenario, world, programs } = this.#run
    if (world.failure || scenario.hostile.length > 0 || scenario.memoryShare > 0) return
    if (scenario.auth || scenario.curve?.tampered || scenario.curve?.wrong.length) return
    if (scenario.actions.some(({ kind }) => kind === "kill")) return
    if (scenario.sockets.some((one) => one.options.conflate || one.isForwarded)) return
    // As in libzmq, a ROUTER reads nothing from a peer whose routing id another has.
    if (scenario.sockets.some((one) => one.options.routingId !== undefined || hasAssignedId(one)))
      return
    for (const program of programs) if (CHOOSES.includes(program.spec.type)) this.#check(program)
  }

  /** Returns whether a socket is closed with messages to write, and not ended otherwise. */
  #lingers({ type, number }: SocketSpec): boolean {
    const { actions } = this.#run.scenario
    const own = actions.filter(({ socket }) => socket === number)
    // A REQ waits for a reply.
    return own.length === 1 && own[0]?.burst?.then === "close" && type !== "Request"
  }

  #lastEndOfOthers({ number }: SocketSpec): number {
    const { actedMs } = this.#run
    const others = [...actedMs].filter(([action]) => action.socket !== number && isEnd(action))
    return Math.max(0, ...others.map(([, ms]) => ms + ACTS_MS))
  }

  /**
   * Whether the peer at the other end may end a connection before it has read everything: it has begun to
   * end all of its connections, which takes it a poll or two, or its heartbeat may, as in libzmq, while
   * there is no room for what it is sent.
   */
  #mayLose(link: Link, { number }: SocketSpec): boolean {
    const ends = endsOf(this.#run, link)
    const peer = ends?.dialling.number === number ? ends.accepting : ends?.dialling
    if (peer?.options.heartbeatInterval !== undefined) return true
    return [...this.#run.actedMs.keys()].some(
      (action) => action.socket === peer?.number && isEnd(action),
    )
  }

  /** Checks that all that was sent after the last end of a connection was received. */
  #check(program: Program): void {
    const { spec, connected, isClosed } = program
    const lingers = this.#lingers(spec)
    if (!lingers && (isClosed || mayEnd(this.#run.scenario, spec.number))) return
    // What was on its way to a peer that then ended is lost with the connection.
    let afterMs = lingers ? this.#lastEndOfOthers(spec) : 0
    let links = 0
    for (const [link, handle] of this.#handlesOf(spec)) {
      // One that the socket closes itself has all that was sent, unless the peer may end it.
      const isKept = lingers && !link.wasCut && !link.isOver && !this.#mayLose(link, spec)
      const isEmptied = isKept && endsFirst(handle)
      const over = isEmptied ? undefined : this.#overSince(spec, link, handle)
      if (over === undefined) links++
      else afterMs = Math.max(afterMs, over + this.#oldMs)
    }
    // Messages wait for those that it connects to, but not for ever.
    if (links < connected.length || (lingers && links === 0)) return
    const lost = this.#of(spec.number).filter(
      ({ fate, isReceived, sinceMs }) => fate === "accepted" && !isReceived && sinceMs > afterMs,
    )
    const [first] = lost
    if (first)
      this.#run.world.fail(
        "what is sent after the last end of a connection is not lost",
        `${spec.type} ${spec.number}: ${first.head.sequence} of ${first.sinceMs.toFixed(1)} and ${lost.length - 1} more`,
      )
  }
}

/** Returns whether a side of a connection has ended it before the other one did. */
function endsFirst({ out, in: from }: Handle): boolean {
  return (out?.endSentMs ?? 0) < (from?.endSentMs ?? 0)
}
