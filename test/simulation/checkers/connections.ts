/** Rules for connections: those of good peers are kept, and nothing is written to one that has ended. */
import type { Checker } from "../checker.js"
import type { Link, Socket } from "../network.js"
import { addressOf, portIn } from "../programs.js"
import { LONG_RECONNECT_MS, type Scenario, type SocketSpec } from "../scenario.js"
import { boundBy, endsOf, isDenied, isPlain, mayEnd, mayRefuse, type Run } from "../state.js"

/** Milliseconds after which a connection has been made, or a lost one replaced. */
const RECONNECTED_MS = 500

/** Frames of commands are not messages, and may be lost. */
const COMMAND = 4

export class Connections implements Checker {
  readonly #run: Run
  #ending = false

  constructor(run: Run) {
    this.#run = run
  }

  protocolError(
    socket: SocketSpec,
    { remoteAddress, remotePort }: { remoteAddress: string; remotePort: number },
    error: Error & { code?: string },
  ): void {
    const { scenario, world } = this.#run
    // The peer is told that it was refused.
    if (isDenied(scenario, socket) && error.code === "ERR_ZMTP_HANDSHAKE") return
    const dialling = scenario.sockets.find(({ number }) => addressOf(number) === remoteAddress)
    if (dialling && scenario.curve?.wrong.includes(dialling.number)) return
    // What was swapped comes without the parts before it, which are refused after that.
    const isTampered = /^ERR_ZMTP_(CURVE|MESSAGE)$/.test(error.code ?? "")
    if (isTampered && this.#wasTamperedWith(remotePort)) return
    const other = `${socket.type} ${socket.number}`
    if (scenario.sockets.some(({ number }) => addressOf(number) === remoteAddress))
      world.fail(
        "good peers are not closed",
        `${other} closes that at ${remoteAddress}: ${error.message}`,
      )
    else if (remoteAddress === "127.0.0.1")
      world.fail("good peers are not closed", `${other} closes who it dialled: ${error.message}`)
  }

  /** Returns whether somebody tampered with a connection to a port. */
  #wasTamperedWith(port: number): boolean {
    return this.#run.network.links.some(
      ({ dialling, accepting, out, in: from }) =>
        (dialling.localPort === port || accepting.localPort === port) &&
        [out, from].some(({ tamperer }) => tamperer?.endsAt !== undefined),
    )
  }

  wroteInVain(socket: Socket, bytes: Uint8Array, why: string): void {
    if (this.#ending || ((bytes[0] ?? COMMAND) & COMMAND) !== 0) return
    this.#run.world.fail(
      "nothing is written to a connection that is over",
      `${bytes.length} bytes to ${socket.label}, which is ${why}\n${new Error().stack}`,
    )
  }

  quiet(): void {
    for (const link of this.#run.network.links) {
      this.#checkStays(link)
      this.#checkServed(link)
    }
    this.#checkReconnects()
    this.#ending = true
  }

  /** Checks that each socket is connected to what it connects to, however often a connection was lost. */
  #checkReconnects(): void {
    const { scenario, programs, network, world } = this.#run
    if (mayRefuse(scenario) || scenario.actions.some(({ kind }) => kind === "kill")) return
    const live = new Set<string>()
    // One that heartbeats showed to be broken may just have ended.
    for (const link of network.links)
      if (link.endedMs > world.now - RECONNECTED_MS || isAbandoned(scenario, link))
        live.add(`${link.accepting.remoteAddress} ${link.accepting.localPort}`)
    for (const { spec, connected, connectedAgainMs, isClosed } of programs) {
      if (isClosed || spec.options.reconnectInterval === LONG_RECONNECT_MS) continue
      if (connectedAgainMs > world.now - RECONNECTED_MS) continue
      for (const name of connected) {
        const port = portIn(name)
        const accepting = boundBy(port)
        if (!scenario.sockets.some(({ number }) => number === accepting)) continue
        if (mayEnd(scenario, accepting) || live.has(`${addressOf(spec.number)} ${port}`)) continue
        world.fail(
          "who connects is connected in the end",
          `${spec.type} ${spec.number} has no connection to ${name}`,
        )
      }
    }
  }

  /**
   * Checks that a connection which stays open has got through its handshake at both ends, that a plain
   * peer is served as over tcp://, and that both ends have the same format.
   */
  #checkServed(link: Link): void {
    const { scenario, programs, world } = this.#run
    const ends = endsOf(this.#run, link)
    if (!ends || link.isOver || link.wasCut || link.firstCloser !== undefined) return
    if (link.openedMs > world.now - RECONNECTED_MS) return
    const { dialling, accepting } = ends
    if (isDenied(scenario, dialling) || isDenied(scenario, accepting)) return
    let wanted = isPlain(this.#run, ends) ? "tcp" : undefined
    for (const [spec, { remotePort }] of [
      [dialling, link.dialling],
      [accepting, link.accepting],
    ] as const) {
      const program = programs.find((one) => one.spec === spec)
      if (!program || program.isClosed) continue
      const one = program.socket.lz4.connections.find((other) => other.remotePort === remotePort)
      const scheme = one?.scheme
      // Where plain peers are accepted, endpoints have different formats, of which both ends have agreed on one.
      const [first] = spec.endpoints
      if (!first?.options.acceptPlain) wanted ??= `${first?.format ?? "lz4"}+tcp`
      if (!scheme || scheme !== (wanted ?? scheme))
        world.fail(
          "who is connected is served",
          `${link.dialling.label}: ${spec.type} ${spec.number} shows ${scheme} in place of ${wanted}`,
        )
      wanted ??= scheme
    }
  }

  /** The side that closes first must have a reason. */
  #checkStays(link: Link): void {
    const { scenario, world, isCalm } = this.#run
    if (scenario.memoryShare > 0 && !isCalm) return
    const ends = endsOf(this.#run, link)
    if (!ends || link.wasCut || link.firstCloser === undefined) return
    const { dialling, accepting } = ends
    if (isDenied(scenario, dialling)) return
    if (mayEnd(scenario, dialling.number) || mayEnd(scenario, accepting.number)) return
    if ([dialling, accepting].some(({ options }) => options.heartbeatInterval !== undefined)) return
    const { label } = link.firstCloser
    world.fail(
      "good peers are not closed",
      `${label} (${dialling.type} ${dialling.number} to ${accepting.type} ${accepting.number}) was closed`,
    )
  }
}

/**
 * Returns whether a PAIR took no messages from a connection, because it had some of the one before.
 * As in libzmq, it does not read it any more, and so does not notice its end.
 */
function isAbandoned({ sockets }: Scenario, { accepting, dialling }: Link): boolean {
  const dialler = sockets.find(({ number }) => addressOf(number) === accepting.remoteAddress)
  return dialler?.type === "Pair" && !dialling.isClosed && !dialling.isReading
}
