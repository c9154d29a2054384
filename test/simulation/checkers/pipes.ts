/** Rules for queues: high-water marks are kept, and nothing waits while there is something to do. */
import type { Checker } from "../checker.js"
import type { ShownPipe } from "../engine.js"
import { authorOf, type Program } from "../programs.js"
import type { TypeName } from "../scenario.js"
import { endsOf, isConnected, mayEnd, type Run, usesThreads } from "../state.js"

/** Milliseconds in which a call that has nothing to wait for settles. */
const SOON_MS = 100
/** Number of events between two checks of all pipes. */
const LOOK_STEPS = 4
/** Maximum bytes that a peer which does not read can make a socket hold, besides one message of the run. */
const UNSENT_MAX_BYTES = 1 << 20

/** Maximum bytes that a connection may have decoded in advance. */
const DECODED_MAX_BYTES = 600 * 1024
/** Maximum bytes of messages that an XPUB reads whatever its mark, and that a thread reads for it. */
const READ_AHEAD_BYTES = 64 * 1024
const THREAD_AHEAD_BYTES = 4 << 20

/** Minimum bytes of the head of a frame. */
const HEAD_BYTES = 2
/** Bytes of a part and its frame besides its content. A hostile peer's part is not longer. */
const HEADS_BYTES = 101
/** Maximum bytes that a connection which accepts plain peers passes on at once, if it kept them. */
const PLAIN_PIECE_BYTES = 64 * 1024

/** Types that pass every received message to their program. */
const GIVES_ALL: readonly TypeName[] = ["Pull", "Gather", "Dealer", "Pair", "Client", "XPublisher"]

interface PipeState {
  readonly inbound: {
    readonly waiting: number
    /** Returns the messages that wait, but for the first `count`. */
    waitingAfter(count: number): readonly (readonly Uint8Array[])[]
    readonly isStopped: boolean
    readonly highWaterMark: number
    readonly readAheadBytes: number
    readonly queued: { readonly isFull: boolean }
  }
  readonly outbound: {
    readonly written: number
    readonly taken: number
    readonly chunks: number
    /** Returns the number of chunks that are commands, which no mark limits. */
    countCommands(): number
    /** Whether changes of subscriptions wait. */
    readonly hasChanges: boolean
    readonly batched: number
    readonly highWaterMark: number
    readonly conflates: boolean
  }
  readonly isTerminated: boolean
  readonly isWritable: boolean
  /** On a thread, one that has ended stays while messages that it received wait for room. */
  readonly connection: { readonly blocked: boolean; readonly isClosing?: boolean } | undefined
}

export class Pipes implements Checker {
  readonly #run: Run
  readonly #marksChange: boolean
  /** Whether subscriptions are queued although only the latest message would be. */
  readonly #subscribes: boolean
  readonly #maxBytes: number
  /** Maximum bytes of frames that a connection decodes at once. */
  readonly #pieceMaxBytes: number
  /** Whether bytes may stop a connection that has few messages. */
  readonly #limitsBytes: boolean
  /** Number of parts that the queues of a socket may have. */
  readonly #maxParts: number | undefined

  constructor(run: Run) {
    this.#run = run
    const { actions, sockets, limits, network } = run.scenario
    this.#subscribes = sockets.some(
      ({ type, options }) => type === "Subscriber" && options.conflate === true,
    )
    this.#maxParts = limits.parts && 2 * limits.parts
    this.#limitsBytes = sockets.some(({ endpoints }) =>
      endpoints.some(({ options }) => options.receiveHighWaterBytes !== undefined),
    )
    this.#marksChange = actions.some(({ kind }) => kind === "marks")
    this.#maxBytes =
      UNSENT_MAX_BYTES +
      Math.max(...sockets.map(({ send }) => (send ? send.maxBytes * send.maxParts : 0)))
    const acceptsPlain = sockets.some(({ endpoints }) =>
      endpoints.some(({ options }) => options.acceptPlain === true),
    )
    this.#pieceMaxBytes = Math.max(
      limits.roomBytes,
      HEADS_BYTES + Math.max(...sockets.map((spec) => authorOf(spec).send.maxBytes)),
      acceptsPlain ? Math.max(PLAIN_PIECE_BYTES, network.readBytes) : 0,
    )
  }

  #states(): PipeState[] {
    const states: PipeState[] = []
    for (const { inside } of this.#run.processes)
      for (const { pipes } of inside) for (const pipe of pipes) states.push(stateOf(pipe))
    return states
  }

  between(): void {
    const { world, network, isCalm } = this.#run
    if (world.steps % LOOK_STEPS !== 0) return
    for (const { owner, label } of network.handles)
      if (owner && owner.writableLength > this.#maxBytes)
        world.fail("bytes that wait are bounded", `${label}: ${owner.writableLength} bytes`)
    if (!isCalm || this.#marksChange) return
    for (const { inside } of this.#run.processes)
      for (const one of inside) {
        let hasEnded = false
        const parts = new Map<object, number>()
        for (const pipe of one.pipes) {
          const state = stateOf(pipe)
          this.#checkMarks(state)
          const { queued } = state.inbound
          parts.set(queued, (parts.get(queued) ?? 0) + partsOf(state))
          hasEnded ||= state.isTerminated
        }
        const most = Math.max(0, ...parts.values())
        if (most > (this.#maxParts ?? most))
          world.fail("marks are kept", `${most} parts wait in the queues of a socket`)
        if (hasEnded) one.pipes = one.pipes.filter(({ internals }) => !internals.isTerminated)
      }
  }

  #checkMarks({ inbound, outbound, isWritable, connection }: PipeState): void {
    const { world } = this.#run
    const { waiting } = inbound
    const receiveMax = outbound.conflates ? 1 : inbound.highWaterMark
    if (receiveMax > 0 && waiting > receiveMax && !isReadAhead(inbound)) {
      const isRest = connection === undefined && this.#isOnePiece(inbound.waitingAfter(receiveMax))
      if (!isRest)
        world.fail("marks are kept", `${waiting} messages wait at a receive mark of ${receiveMax}`)
    }
    if (!isWritable) return
    if (outbound.conflates) {
      const { chunks, batched } = outbound
      if (!this.#subscribes && chunks + batched > 1)
        world.fail(
          "marks are kept",
          `${chunks} chunks and ${batched} messages wait, and the socket conflates`,
        )
      return
    }
    const { highWaterMark } = outbound
    const unsent = outbound.written - outbound.taken
    if (
      highWaterMark > 0 &&
      unsent > highWaterMark &&
      unsent - outbound.countCommands() > highWaterMark
    )
      world.fail("marks are kept", `${unsent} wait at a send mark of ${highWaterMark}`)
  }

  /**
   * Returns whether messages beyond a receive mark can be the rest of what a connection had decoded
   * when it ended. They were counted, so they are received. A connection decodes no further piece
   * while the queue is full.
   */
  #isOnePiece(messages: readonly (readonly Uint8Array[])[]): boolean {
    let bytes = 0
    for (const message of messages) for (const part of message) bytes += HEAD_BYTES + part.length
    return bytes <= this.#pieceMaxBytes
  }

  /** Checks that messages sent but not received fit into queues, buffers and the network. */
  busy(): void {
    const { programs, scenario, network, world } = this.#run
    const marks = programs.map(({ socket }) => socket)
    let waiting = 0
    let most = 0
    let room = 0
    for (const { spec, acceptedBytes, receivedBytes } of programs) {
      if (spec.send) most = Math.max(most, spec.send.maxBytes * spec.send.maxParts + 100)
      // Distributed messages go to several peers, or to none.
      if (["Publisher", "XPublisher", "Radio", "XSubscriber"].includes(spec.type)) continue
      waiting += acceptedBytes - receivedBytes
    }
    for (const socket of marks)
      for (const mark of [socket.sendHighWaterMark, socket.receiveHighWaterMark]) {
        if (mark === 0) return
        room += (mark ?? 0) * most * scenario.sockets.length
      }
    room += (network.links.length + 1) * (2 * scenario.network.capacityBytes + DECODED_MAX_BYTES)
    if (waiting > room) world.fail("bytes that wait are bounded", `${waiting} of at most ${room}`)
    for (const program of programs) this.#checkWaiting(program, most)
  }

  /**
   * Checks that a high-water mark limits the messages that a socket has read and its program has
   * not received.
   */
  #checkWaiting({ spec, socket, receivedBytes }: Program, most: number): void {
    const { network, world, scenario } = this.#run
    const changes = scenario.actions.filter(
      ({ kind, socket: of }) => kind === "marks" && of === spec.number,
    )
    // Messages read under a higher mark may still wait.
    const marks = [socket.receiveHighWaterMark, ...changes.map(({ value }) => value)]
    const mark = Math.max(...marks)
    if (
      spec.isForwarded ||
      !GIVES_ALL.includes(spec.type) ||
      marks.includes(0) ||
      // What it receives after a disconnect() is counted and dropped.
      mayEnd(scenario, spec.number) ||
      spec.options.conflate === true
    )
      return
    const waiting = socket.lz4.stats.received.plainBytes - receivedBytes
    const links = network.links.filter((link) => {
      const ends = endsOf(this.#run, link)
      // A hostile peer's connection may belong to any socket.
      return !ends || ends.dialling === spec || ends.accepting === spec
    })
    const ahead = usesThreads(spec) ? THREAD_AHEAD_BYTES : READ_AHEAD_BYTES
    const readAhead = spec.type === "XPublisher" ? ahead : 0
    const room = links.length * (mark * most + readAhead + DECODED_MAX_BYTES)
    if (waiting > room)
      world.fail(
        "bytes that wait are bounded",
        `${waiting} of at most ${room} at ${spec.type} ${spec.number}`,
      )
  }

  quiet(): void {
    const { world, isCalm, programs, scenario } = this.#run
    if (world.failure) return
    // Some messages are not received: late ones of a REQ, those of a ROUTER's peer whose routing id
    // another has, those that arrive while a socket with `mandatory` waits to answer, and those of
    // a closed socket.
    const reads =
      scenario.sockets.every(({ type, options }) => type !== "Request" && !options.mandatory) &&
      scenario.sockets.every(({ options }) => options.routingId === undefined) &&
      scenario.actions.every(({ kind, burst }) => kind !== "close" && burst?.then !== "close") &&
      // A proxy stops reading after it has lost the sockets behind it.
      (isCalm || !scenario.sockets.some(({ isForwarded }) => isForwarded))
    for (const state of this.#states()) {
      if (state.isTerminated) continue
      this.#checkWakeUps(state, reads)
    }
    // One with a timeout may only have begun to wait, and a ROUTER to learn that nobody has the name.
    for (const { spec, sendingMs, isClosed } of programs)
      if (
        isCalm &&
        sendingMs > SOON_MS &&
        !isClosed &&
        spec.options.sendTimeout === undefined &&
        isConnected(this.#run, spec)
      )
        world.fail(
          "nobody waits while there is something to do",
          `${spec.type} ${spec.number} waits in send()`,
        )
  }

  /** Whether there are connections that are only read, because a write has failed or would fail. */
  #areBeingRead(): boolean {
    return [...this.#run.network.handles].some(({ isReset }) => isReset)
  }

  #checkWakeUps(state: PipeState, reads: boolean): void {
    const { world, isCalm } = this.#run
    const { inbound, outbound, connection, isWritable } = state
    const { waiting, isStopped, highWaterMark } = inbound
    const { chunks, batched, written, taken } = outbound
    const waits = (what: string) => world.fail("nobody waits while there is something to do", what)
    if (reads && waiting > 0) waits(`${waiting} messages wait, and all receive`)
    const low = this.#limitsBytes || this.#maxParts ? 0 : highWaterMark >> 1
    if (isStopped && connection && waiting <= low)
      waits(`a connection stands still with ${waiting} of ${highWaterMark} messages`)
    if (!connection) return
    if (!connection.blocked && !outbound.conflates && isWritable && written !== taken)
      world.fail(
        "marks are kept",
        `${written - taken} messages count as waiting where ${chunks + batched} do`,
      )
    if (!connection.blocked && outbound.hasChanges)
      waits("changes of subscriptions are not written")
    if (!connection.blocked && chunks + batched > 0)
      waits(`${chunks} chunks and ${batched} messages are not written`)
    const waitsForRoom = isStopped && connection.isClosing
    if (isCalm && isWritable && connection.blocked && !waitsForRoom && !this.#areBeingRead())
      waits("a connection is blocked, and nothing is on its way")
  }
}

/** Returns the state of a pipe. */
function stateOf({ internals, out, connection }: ShownPipe): PipeState {
  const { inbound, isTerminated, isActive } = internals
  const { length, messagesAfter, isStopped, highWaterMark, readAheadBytes, queued } = inbound
  const { credit, conflates, queue } = out
  const { pending, hasChanges, batched } = queue
  return {
    inbound: {
      waiting: length,
      waitingAfter: messagesAfter,
      isStopped,
      highWaterMark,
      readAheadBytes,
      queued,
    },
    outbound: {
      written: credit.written,
      taken: credit.sent,
      chunks: pending?.length ?? 0,
      countCommands: () => [...(pending ?? [])].filter((item) => "name" in item).length,
      hasChanges,
      batched,
      highWaterMark: credit.highWaterMark,
      conflates,
    },
    isTerminated,
    isWritable: isActive,
    connection,
  }
}

/** Returns the number of parts in a limited queue, but for the latest message, which is always accepted. */
function partsOf({ inbound, connection }: PipeState): number {
  if (!connection || inbound.highWaterMark <= 0) return 0
  const counted = inbound.waitingAfter(0).slice(0, -1)
  return counted.reduce((sum, { length }) => sum + length, 0)
}

/** Returns whether all queued messages but the last take less memory than an XPUB may read ahead. */
function isReadAhead({ waitingAfter, readAheadBytes }: PipeState["inbound"]): boolean {
  const parts = waitingAfter(0).slice(0, -1).flat()
  return parts.reduce((sum, { length }) => sum + length, 0) < readAheadBytes
}
