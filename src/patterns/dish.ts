import { Distribution } from "./distribution.js"
import { FairQueue } from "./fair-queue.js"
import { GROUP_MAX_BYTES, type Message } from "./message.js"
import type { Pipe } from "./pipe.js"
import { type Refusal, type Routing, SocketType } from "./socket-type.js"

function violationOf(message: Message): string | undefined {
  if (message.length !== 2) return "a message is not a group and a body"
  if ((message[0] as Buffer).length > GROUP_MAX_BYTES) return "a group has over 255 bytes"
  return undefined
}

/** The DISH socket: receives messages of the groups that it has joined (RFC 48). */
export class Dish extends SocketType {
  override readonly name = "DISH"
  override readonly violation: (message: Message) => string | undefined = violationOf
  override readonly resubscribes = true
  protected override readonly in: FairQueue = new FairQueue()
  protected override readonly out: Distribution = new Distribution()
  readonly #groups = new Set<string>()
  /** A message of a joined group that `hasIn` has already taken from a pipe. */
  #found: Message | undefined
  #group: Buffer | undefined

  attach(pipe: Pipe): void {
    this.in.attach(pipe)
    this.out.attach(pipe)
    this.hiccuped(pipe)
    this.events.readable()
  }

  override hiccuped(pipe: Pipe): void {
    for (const group of [...this.#groups].sort())
      pipe.out.writeCommand("JOIN", Buffer.from(group, "latin1"), true)
  }

  override writeActivated(pipe: Pipe): void {
    this.out.activated(pipe)
  }

  override join(group: Buffer): void {
    const isJoined = this.#groups.has(group.toString("latin1"))
    this.#groups.add(group.toString("latin1"))
    this.out.commandToAll("JOIN", Buffer.from(group), !isJoined)
  }

  override leave(group: Buffer): void {
    const wasJoined = this.#groups.delete(group.toString("latin1"))
    this.out.commandToAll("LEAVE", Buffer.from(group), wasJoined)
  }

  override receive(): Message | Refusal {
    if (!this.hasIn()) return "EAGAIN"
    const [group, body] = this.#found as [Buffer, Buffer]
    this.#found = undefined
    this.#group = group
    return [body]
  }

  override get routing(): Routing {
    return { group: this.#group as Buffer }
  }

  override hasIn(): boolean {
    while (!this.#found) {
      const message = this.in.receive()
      if (message === undefined) return false
      if (this.#groups.has((message[0] as Buffer).toString("latin1"))) this.#found = message
    }
    return true
  }

  override hasOut(): boolean {
    return true
  }
}
