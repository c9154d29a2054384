import { runInTurns } from "../base/in-turns.js"
import { Distribution } from "./distribution.js"
import { GROUP_MAX_BYTES, type Message } from "./message.js"
import type { Pipe } from "./pipe.js"
import { type Refusal, type Routing, SocketType } from "./socket-type.js"

/** Maximum number of groups that a peer may join; a JOIN beyond it is ignored. */
const GROUPS_MAX = 1 << 16

/** The RADIO socket: sends each message to all peers that have joined its group (RFC 48). */
export class Radio extends SocketType {
  override readonly name = "RADIO"
  protected override readonly out: Distribution = new Distribution()
  readonly #groups = new Map<string, Set<Pipe>>()
  /** The groups that each peer has joined. */
  readonly #joined = new Map<Pipe, Set<string>>()

  attach(pipe: Pipe): void {
    this.out.attach(pipe)
  }

  override terminated(pipe: Pipe): void {
    const joined = this.#joined.get(pipe)
    this.#joined.delete(pipe)
    this.out.terminated(pipe)
    if (joined) runInTurns(this.#leaveAll(pipe, joined))
  }

  override command(pipe: Pipe, name: string, data: Buffer): boolean {
    if (data.length > GROUP_MAX_BYTES) return true
    const group = data.toString("latin1")
    const pipes = this.#groups.get(group)
    if (name === "JOIN") {
      let joined = this.#joined.get(pipe)
      if (!joined) {
        joined = new Set()
        this.#joined.set(pipe, joined)
      }
      if (joined.size >= GROUPS_MAX) return true
      joined.add(group)
      if (pipes) pipes.add(pipe)
      else this.#groups.set(group, new Set([pipe]))
    } else if (name === "LEAVE") {
      this.#joined.get(pipe)?.delete(group)
      this.#leave(pipe, group)
    }
    return true
  }

  *#leaveAll(pipe: Pipe, groups: Iterable<string>): Generator<number> {
    for (const group of groups) {
      this.#leave(pipe, group)
      yield 1
    }
  }

  #leave(pipe: Pipe, group: string): void {
    const pipes = this.#groups.get(group)
    pipes?.delete(pipe)
    if (pipes?.size === 0) this.#groups.delete(group)
  }

  /**
   * Drops received messages. The program cannot receive them, and a pipe that held any would outlive
   * its connection.
   */
  takes(): boolean {
    return true
  }

  override send(message: Message, { group }: Routing): Refusal | undefined {
    if (message.length !== 1) return "EINVAL"
    const name = group as Buffer
    this.out.unmatch()
    for (const pipe of this.#groups.get(name.toString("latin1")) ?? []) this.out.match(pipe)
    this.out.sendToMatching([name, message[0] as Buffer])
    return undefined
  }

  override hasOut(): boolean {
    return true
  }
}
