/** Rules for statistics: both sides of a connection count the messages that programs send and receive. */
import type { Checker } from "../checker.js"
import type { Program } from "../programs.js"
import { hasAssignedId, type SocketSpec, type TypeName } from "../scenario.js"
import { endsOf, isDenied, mayLoseItsPeers, type Run, usesThreads } from "../state.js"

/** Types that send each message once, and types that pass every received message to the program. */
const SENDS_ONCE: readonly TypeName[] = ["Push", "Scatter", "Dealer", "Pair", "Client", "Request"]
const GIVES_ALL: readonly TypeName[] = ["Pull", "Gather", "Dealer", "Pair", "Client", "Server"]

export class Counters implements Checker {
  readonly #run: Run

  constructor(run: Run) {
    this.#run = run
  }

  quiet(): void {
    const { scenario, programs, world, isCalm } = this.#run
    if (world.failure || scenario.hostile.length > 0) return
    // What came before a rule was broken may have been decoded, and dropped with the rest.
    if (scenario.curve?.tampered) return
    if (scenario.sockets.some(({ options }) => options.conflate === true)) return
    const open = programs.filter((program) => !program.isClosed)
    for (const program of open) this.#checkProgram(program)
    // As in libzmq, a ROUTER does not read a peer whose routing id it has assigned to another.
    if (!isCalm || scenario.sockets.some(hasAssignedId)) return
    const [sent, received] = [
      { messages: 0, plainBytes: 0, wireBytes: 0 },
      { messages: 0, plainBytes: 0, wireBytes: 0 },
    ]
    for (const { socket } of programs) {
      const { stats } = socket.lz4
      for (const name of ["messages", "plainBytes", "wireBytes"] as const) {
        sent[name] += stats.sent[name]
        received[name] += stats.received[name]
      }
    }
    for (const name of ["messages", "plainBytes", "wireBytes"] as const)
      if (sent[name] !== received[name])
        world.fail("counters add up", `${sent[name]} ${name} sent, ${received[name]} received`)
  }

  /** Returns the number of connections that a socket has had. */
  #linksOf(spec: SocketSpec): number {
    return this.#run.network.links.filter((link) => {
      const ends = endsOf(this.#run, link)
      return ends?.dialling === spec || ends?.accepting === spec
    }).length
  }

  #checkProgram({ spec, socket, accepted, received }: Program): void {
    const { world, isCalm, scenario } = this.#run
    if (spec.isForwarded) return
    if (mayLoseItsPeers(this.#run, spec) || isDenied(this.#run.scenario, spec)) return
    const { stats } = socket.lz4
    const name = `${spec.type} ${spec.number}`
    const keepsPipes =
      spec.endpoints.every(({ kind }) => kind === "connect") && !spec.options.immediate
    const isTypical = SENDS_ONCE.includes(spec.type) && spec.partner !== "Request"
    // A thread without memory ends a connection with messages that it had begun to write.
    const lacksMemory = scenario.memoryShare > 0 && usesThreads(spec)
    if (isTypical && (isCalm || keepsPipes) && !lacksMemory && stats.sent.messages !== accepted)
      world.fail(
        "counters add up",
        `${name} sent ${accepted} messages, and counts ${stats.sent.messages}`,
      )
    // A message that was cut off in its last part was counted, but not delivered.
    const cut = isCalm ? 0 : this.#linksOf(spec)
    const missing = stats.received.messages - received
    // When a connection is given up, messages that it had not passed on are lost.
    if (spec.options.heartbeatInterval !== undefined) return
    // So does one on a thread that has no memory.
    if (scenario.memoryShare > 0 && !isCalm && usesThreads(spec)) return
    // As in libzmq, a PAIR does not read a new connection with a pipe of its own before the messages of
    // the old one have been received; messages that were decoded from it were counted.
    const hasNewPipes =
      spec.options.immediate === true || spec.endpoints.some(({ kind }) => kind === "bind")
    if (spec.type === "Pair" && hasNewPipes && cut > 1) return
    // A connection that begins while the queue is full passes on nothing if it ends before there is room,
    // not even what came with the handshake.
    const hasHeld = this.#run.processes.some(({ inside }) => inside.some(({ held }) => held > 0))
    if (hasHeld && cut > 1) return
    if (GIVES_ALL.includes(spec.type) && (missing < 0 || missing > cut))
      world.fail(
        "counters add up",
        `${name} received ${received} messages, and counts ${stats.received.messages}`,
      )
  }
}
