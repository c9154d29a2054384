import { Distribution } from "./distribution.js"
import type { Message } from "./message.js"
import type { Pipe } from "./pipe.js"
import { type Refusal, type Routing, SocketType } from "./socket-type.js"

/**
 * The maximum length of a group's name (RFC 48), and the maximum number of groups for each peer. A
 * JOIN beyond either is ignored.
 */
const GROUP_MAX_BYTES = 255
const GROUPS_MAX = 1 << 16

/** The RADIO socket: sends each message to all peers that have joined its group (RFC 48). */
export class Radio extends SocketType {
  override readonly name = "RADIO"
  readonly #out = new Distribution()
  readonly #groups = new Map<string, Set<Pipe>>()
  /** Number of groups that each peer has joined. */
  readonly #joined = new Map<Pipe, number>()

  attach(pipe: Pipe): void {
    this.#out.attach(pipe)
  }

  terminated(pipe: Pipe): void {
    this.#joined.delete(pipe)
    for (const [group, pipes] of this.#groups)
      if (pipes.delete(pipe) && pipes.size === 0) this.#groups.delete(group)
    this.#out.terminated(pipe)
  }

  override command(pipe: Pipe, name: string, data: Buffer): boolean {
    if (data.length > GROUP_MAX_BYTES) return true
    const group = data.toString("latin1")
    const pipes = this.#groups.get(group)
    if (name === "JOIN") {
      const joined = this.#joined.get(pipe) ?? 0
      if (pipes?.has(pipe) || joined >= GROUPS_MAX) return true
      this.#joined.set(pipe, joined + 1)
      if (pipes) pipes.add(pipe)
      else this.#groups.set(group, new Set([pipe]))
    } else if (name === "LEAVE" && pipes) {
      if (pipes.delete(pipe)) this.#joined.set(pipe, (this.#joined.get(pipe) as number) - 1)
      if (pipes.size === 0) this.#groups.delete(group)
    }
    return true
  }

  /**
   * Drops received messages. The program cannot receive them, and a pipe that held any would outlive
   * its connection.
   */
  takes(): boolean {
    return true
  }

  override writeActivated(pipe: Pipe): void {
    this.#out.activated(pipe)
    this.events.writable()
  }

  override send(message: Message, { group }: Routing): Refusal | undefined {
    if (message.length !== 1) return "EINVAL"
    const name = group as Buffer
    this.#out.unmatch()
    for (const pipe of this.#groups.get(name.toString("latin1")) ?? []) this.#out.match(pipe)
    this.#out.sendToMatching([name, message[0] as Buffer])
    return undefined
  }

  override hasOut(): boolean {
    return true
  }
}
