/** Rules for delivery: messages are not changed, repeated or reordered, and not lost without a reason. */
import type { Checker } from "../checker.js"
import { difference, type Head, readHead, topicOf } from "../messages.js"
import { authorOf } from "../programs.js"
import { hasAssignedId, onlyLingers, type SocketSpec, TOPICS, type TypeName } from "../scenario.js"
import { endsOf, isCalm, isDenied, mayEnd, type Run } from "../state.js"

type Fate = "sending" | "accepted" | "refused"

/** Types that send each message to all interested peers. */
const DISTRIBUTES: readonly TypeName[] = ["Publisher", "XPublisher", "Radio", "XSubscriber"]
/** A high-water mark that no run reaches. */
const LARGE_MARK = 1000

/** Counts the increasing sequences that numbers can be split into, at least. */
class RisingRuns {
  readonly #ends: number[] = []

  add(number: number): number {
    const at = this.#ends.findIndex((end) => end < number)
    if (at < 0) this.#ends.push(number)
    else this.#ends[at] = number
    return this.#ends.length
  }
}

/** The messages that one socket received from another. */
interface Flow {
  numbers: Set<number>
  first: number
  last: number
  runs: RisingRuns
}

/** A subscriber, with the topics that it had from the beginning, or has now. */
type Subscribed = Pick<SocketSpec, "type" | "topics" | "options">

/** Returns whether a subscriber gets this publisher's messages with a topic. */
function wants(author: SocketSpec, subscriber: Subscribed, topic: string): boolean {
  const matches = subscriber.topics.some((prefix) => topic.startsWith(prefix))
  return matches !== (author.options.invertMatching === true) && lets(subscriber, topic)
}

/** Returns whether a socket keeps messages with a topic. An XSUB keeps all. */
function lets({ type, topics, options }: Subscribed, topic: string): boolean {
  if (type !== "Subscriber") return true
  const matches = topics.some((prefix) => topic.startsWith(prefix))
  return matches !== (options.invertMatching === true)
}

export class Delivery implements Checker {
  readonly #run: Run
  /** The fate of each message, by author and number. */
  readonly #fates = new Map<number, Fate[]>()
  readonly #heads = new Map<number, Head[]>()
  readonly #received = new Map<number, Set<number>>()
  readonly #flows = new Map<string, Flow>()

  constructor(run: Run) {
    this.#run = run
  }

  #fail(rule: string, detail: string): void {
    this.#run.world.fail(rule, detail)
  }

  #spec(number: number): SocketSpec | undefined {
    return this.#run.scenario.sockets.find((spec) => spec.number === number)
  }

  sending(socket: SocketSpec, head: Head): void {
    const fates = this.#fates.get(socket.number) ?? []
    this.#fates.set(socket.number, fates)
    fates[head.sequence] = "sending"
    const heads = this.#heads.get(socket.number) ?? []
    this.#heads.set(socket.number, heads)
    heads[head.sequence] = head
  }

  accepted(socket: SocketSpec, { sequence }: Head): void {
    ;(this.#fates.get(socket.number) as Fate[])[sequence] = "accepted"
  }

  refused(socket: SocketSpec, { sequence }: Head): void {
    ;(this.#fates.get(socket.number) as Fate[])[sequence] = "refused"
    if (this.#run.scenario.memoryShare > 0 && DISTRIBUTES.includes(socket.type)) return
    if (this.#received.get(socket.number)?.has(sequence))
      this.#fail("what was refused is not sent", `${sequence} of ${socket.number} was received`)
  }

  received(socket: SocketSpec, parts: readonly Buffer[]): void {
    const { world, scenario } = this.#run
    const head = readHead(parts)
    const author = head && this.#spec(head.sender)
    if (!head || !author) {
      if (scenario.hostile.length > 0) return
      const bytes = parts.map((part) => part.length)
      this.#fail(
        "content",
        `${socket.type} ${socket.number} got a message that nobody sent, of ${bytes} bytes: ${parts[0]?.toString("latin1", 0, 24)}`,
      )
      return
    }
    const { sender, sequence } = head
    world.log(
      50,
      sender * 65_536 + sequence,
      () => `${socket.number} gets ${sequence} of ${sender}`,
    )
    const name = `${sequence} of ${author.type} ${sender} at ${socket.type} ${socket.number}`
    const wrong = difference(authorOf(author), head, parts)
    if (wrong !== undefined) this.#fail("content", `${name}: ${wrong}`)
    const fate = this.#fates.get(sender)?.[sequence]
    if (fate === undefined) this.#fail("content", `${name} was never sent`)
    // If memory is refused for some recipients, the others still get the message.
    const isForMany = scenario.memoryShare > 0 && DISTRIBUTES.includes(author.type)
    if (fate === "refused" && !isForMany) this.#fail("what was refused is not sent", name)
    if (this.#heads.get(sender)?.[sequence]?.to !== head.to)
      this.#fail("content", `${name} is for ${head.to}`)
    if (head.to < 0xffff && head.to !== socket.number)
      this.#fail("replies go to who asked", `${name} is for ${head.to}`)
    if (isDenied(scenario, author) || isDenied(scenario, socket))
      this.#fail("who is not let in is not heard", name)
    this.#checkTopic(socket, head, name)
    this.#checkOnce(socket, author, head, name)
    this.#checkOrder(socket, author, head, name)
  }

  #checkTopic(socket: SocketSpec, head: Head, name: string): void {
    const topic = topicOf(head)
    if (lets(socket, topic)) return
    if (this.#run.scenario.actions.some(({ kind }) => kind === "topic")) return
    this.#fail("only what was subscribed to", `${name} has the topic ${topic}`)
  }

  #checkOnce(socket: SocketSpec, author: SocketSpec, head: Head, name: string): void {
    const received = this.#received.get(author.number) ?? new Set()
    this.#received.set(author.number, received)
    const flow = this.#flow(socket, author)
    const isTwice = DISTRIBUTES.includes(author.type)
      ? flow.numbers.has(head.sequence) && this.#linksBetween(socket, author) <= 1
      : received.has(head.sequence)
    received.add(head.sequence)
    flow.numbers.add(head.sequence)
    if (isTwice) this.#fail("at most once", `${name} came before`)
  }

  #flow(socket: SocketSpec, author: SocketSpec): Flow {
    const key = `${author.number} ${socket.number}`
    let flow = this.#flows.get(key)
    if (!flow) {
      flow = { numbers: new Set(), first: -1, last: -1, runs: new RisingRuns() }
      this.#flows.set(key, flow)
    }
    return flow
  }

  #linksBetween(one: SocketSpec, other: SocketSpec): number {
    let links = 0
    for (const link of this.#run.network.links) {
      const ends = endsOf(this.#run, link)
      if (!ends) continue
      const { dialling, accepting } = ends
      if ((dialling === one && accepting === other) || (dialling === other && accepting === one))
        links++
    }
    return links
  }

  /** Returns the number of paths that messages may have taken. Each path keeps their order. */
  #pathsBetween(socket: SocketSpec, author: SocketSpec): number {
    if (!this.#isProxied) return this.#linksBetween(socket, author)
    const [from, to] = [author, socket].map(
      (one) =>
        this.#run.network.links.filter((link) => endsOf(this.#run, link)?.dialling === one).length,
    )
    return (from as number) * (to as number)
  }

  get #isProxied(): boolean {
    return this.#run.scenario.sockets.some(({ isForwarded }) => isForwarded)
  }

  #checkOrder(socket: SocketSpec, author: SocketSpec, head: Head, name: string): void {
    const flow = this.#flow(socket, author)
    if (flow.first < 0) flow.first = head.sequence
    const runs = flow.runs.add(head.sequence)
    const before = flow.last
    flow.last = head.sequence
    if (runs > 1 && runs > this.#pathsBetween(socket, author))
      this.#fail("order per peer", `${name} came after ${before}`)
  }

  // -- Nothing is lost -------------------------------------------------------------

  quiet(): void {
    const { scenario, isCalm } = this.#run
    if (this.#run.world.failure) return
    if (!isCalm) {
      if (this.#onlyLingers) for (const author of scenario.sockets) this.#checkLingering(author)
      return
    }
    for (const author of scenario.sockets) this.#checkLatest(author)
    this.#checkWelcomes()
    if (scenario.sockets.some(({ options }) => options.conflate === true)) return
    for (const author of scenario.sockets) {
      if (author.type === "XSubscriber") continue
      if (DISTRIBUTES.includes(author.type)) this.#checkGaps(author)
      else this.#checkAll(author)
    }
  }

  /** An XPUB with a welcome message sends it to each subscriber once. */
  #checkWelcomes(): void {
    const { scenario, programs, network } = this.#run
    if (scenario.memoryShare > 0 || scenario.actions.some(({ kind }) => kind === "topic")) return
    for (const { spec, welcomes } of programs) {
      if (!spec.type.endsWith("Subscriber") || spec.options.conflate) continue
      const greeting = network.links.filter((link) => {
        const ends = endsOf(this.#run, link)
        if (!ends || (ends.dialling !== spec && ends.accepting !== spec)) return false
        const author = ends.dialling === spec ? ends.accepting : ends.dialling
        if (author.options.welcomeMessage === undefined) return false
        return lets(spec, TOPICS[0])
      })
      if (welcomes !== greeting.length)
        this.#fail(
          "subscribers are greeted once",
          `${spec.type} ${spec.number} got ${welcomes} of ${greeting.length}`,
        )
    }
  }

  /** A connected subscriber is subscribed, however many connections it has had. */
  probed(author: SocketSpec, heads: readonly Head[], sinceMs: number): void {
    const { scenario, programs } = this.#run
    for (const { spec, topics } of programs) {
      if (spec.type !== "Subscriber") continue
      const flow = this.#flow(spec, author)
      for (const head of heads)
        if (flow.numbers.has(head.sequence) && !lets({ ...spec, topics }, topicOf(head)))
          this.#fail(
            "only what was subscribed to",
            `Subscriber ${spec.number} got ${head.sequence} of ${author.type} ${author.number}`,
          )
    }
    // A connection that one side has ended may look open.
    if (scenario.network.fin > 0) return
    for (const { spec, topics, everyTopic, isClosed } of programs) {
      // Sockets that conflate get only some messages.
      if (spec.type !== "Subscriber" || isClosed || spec.options.conflate) continue
      if (isDenied(scenario, spec) || isDenied(scenario, author)) continue
      if (this.#liveLinks(spec, author, sinceMs) !== 1) continue
      const flow = this.#flow(spec, author)
      const past = { type: "XSubscriber" as const, topics: [...everyTopic], options: {} }
      for (const head of heads) {
        const topic = topicOf(head)
        if (!wants(author, { ...spec, topics }, topic)) continue
        if (this.#mayBeKept(author, spec) && !wants(author, past, topic)) continue
        if (this.#fates.get(author.number)?.[head.sequence] !== "accepted") continue
        if (!flow.numbers.has(head.sequence))
          this.#fail(
            "who is connected is subscribed",
            `Subscriber ${spec.number} did not get ${head.sequence} of ${author.type} ${author.number}`,
          )
      }
    }
  }

  /**
   * Returns whether a publisher may know subscriptions that were cancelled while it had no
   * connection. As in libzmq, the pipe of a socket that connects keeps them. If the publisher
   * inverts its matching, they exclude messages.
   */
  #mayBeKept(author: SocketSpec, subscriber: SocketSpec): boolean {
    const connects = author.endpoints.some(({ to }) => to === subscriber.number)
    return connects && this.#linksBetween(author, subscriber) > 1
  }

  /** Returns the number of connections that have been open since that time. */
  #liveLinks(one: SocketSpec, other: SocketSpec, sinceMs: number): number {
    let links = 0
    for (const link of this.#run.network.links) {
      if (link.isOver || link.firstCloser || link.wasCut || link.openedMs > sinceMs) continue
      const ends = endsOf(this.#run, link)
      if (!ends) continue
      const { dialling, accepting } = ends
      if ((dialling === one && accepting === other) || (dialling === other && accepting === one))
        links++
    }
    return links
  }

  /** Checks that the latest message of a conflating socket arrives. */
  #checkLatest(author: SocketSpec): void {
    const { type, options, endpoints } = author
    if (options.conflate !== true || (type !== "Push" && type !== "Dealer")) return
    if (endpoints.length !== 1 || endpoints[0]?.kind !== "connect" || !this.#delivers(author))
      return
    // Behind a proxy, a socket that conflates may keep the latest of another.
    if (this.#isProxied) return
    const latest = (this.#fates.get(author.number) ?? []).lastIndexOf("accepted")
    if (latest >= 0 && !this.#received.get(author.number)?.has(latest))
      this.#fail("nothing is lost", `${type} ${author.number}: ${latest}, the latest`)
  }

  /** Whether connections only end where all that was sent over them lingers. */
  get #onlyLingers(): boolean {
    const { scenario } = this.#run
    const { sockets, actions } = scenario
    return isCalm({
      ...scenario,
      actions: actions.filter((action) => !onlyLingers(sockets, action)),
    })
  }

  /** Checks that a socket which only sends loses nothing when it disconnects. */
  #checkLingering(author: SocketSpec): void {
    const { sockets } = this.#run.scenario
    const { type, options, endpoints } = author
    if ((type !== "Push" && type !== "Scatter") || options.linger !== -1 || this.#isProxied) return
    if (sockets.some(({ options }) => options.conflate === true)) return
    if (endpoints.every(({ kind }) => kind === "connect")) this.#checkArrived(author)
  }

  /** Checks that messages for a single peer arrive there. */
  #checkAll(author: SocketSpec): void {
    if (this.#delivers(author)) this.#checkArrived(author)
  }

  #checkArrived(author: SocketSpec): void {
    const received = this.#received.get(author.number)
    const fates = this.#fates.get(author.number) ?? []
    for (const [sequence, fate] of fates.entries()) {
      if (fate !== "accepted" || received?.has(sequence)) continue
      const count = fates.filter((fate, i) => fate === "accepted" && !received?.has(i)).length
      this.#fail(
        "nothing is lost",
        `${author.type} ${author.number}: ${sequence} and ${count - 1} more`,
      )
      return
    }
  }

  /** Returns whether a socket sends all messages that it accepts, if no connection ends. */
  #delivers({ type, partner, options, endpoints, number, send }: SocketSpec): boolean {
    const { sockets, hostile, actions } = this.#run.scenario
    // Some messages may go to hostile peers that look like good ones.
    if (hostile.some(({ to }) => to === number || this.#isProxied)) return false
    // A peer with another's routing id is not read, and neither is the second peer of a PAIR.
    const ids = sockets.map(({ options }) => options.routingId).filter((id) => id !== undefined)
    if (new Set(ids).size < ids.length || sockets.some(hasAssignedId)) return false
    if (mayEnd(this.#run.scenario, number)) return false
    const changes = actions.filter(({ kind, socket }) => kind === "marks" && socket === number)
    const marks = [options.sendHighWaterMark ?? LARGE_MARK, ...changes.map(({ value }) => value)]
    const areLarge = marks.every((mark) => mark === 0 || Number(mark) >= LARGE_MARK)
    // A ROUTER may send messages of its own to peers that it has no name for yet.
    if (type === "Router") return options.mandatory === true || (!send && areLarge)
    if (type === "Reply") return areLarge
    // A pipe without a peer keeps its messages.
    const isHeard = ({ kind, to }: { kind: string; to?: number }) =>
      kind === "bind" || sockets.some((socket) => socket.number === to)
    if (this.#isProxied && !sockets.some((other) => other.type === partner)) return false
    return endpoints.every(isHeard)
  }

  /**
   * Checks that a subscriber which gets one message also gets all later ones, if no high-water mark
   * is reached.
   */
  #checkGaps(author: SocketSpec): void {
    const { scenario, programs } = this.#run
    if (scenario.actions.length > 0) return
    // A proxy gets the topics of its subscribers one at a time.
    const subscribers = scenario.sockets.filter(({ type }) => type === "Subscriber").length
    if (this.#isProxied && subscribers > 1) return
    // Memory may be refused for some of several recipients.
    if (scenario.memoryShare > 0) return
    const drops = ({ type, options, isForwarded }: SocketSpec) => {
      const mark = Number(options.sendHighWaterMark ?? LARGE_MARK)
      return (
        type !== "XSubscriber" &&
        isForwarded !== undefined &&
        mark > 0 &&
        mark < LARGE_MARK &&
        options.noDrop !== true
      )
    }
    if (drops({ ...author, isForwarded: true }) || scenario.sockets.some(drops)) return
    const fates = this.#fates.get(author.number) ?? []
    const heads = this.#heads.get(author.number) ?? []
    for (const { spec } of programs) {
      const flow = this.#flows.get(`${author.number} ${spec.number}`)
      // An XSUB gets messages of all its topics.
      if (!flow) continue
      for (let i = flow.first; i < fates.length; i++) {
        const topic = topicOf(heads[i] as Head)
        const isWanted =
          spec.type === "Dish" ? spec.topics.includes(topic) : wants(author, spec, topic)
        // Subscriptions arrive one at a time.
        if (!isWanted || fates[i] !== "accepted" || flow.numbers.has(i) || spec.topics.length > 1)
          continue
        this.#fail(
          "nothing is lost",
          `${spec.type} ${spec.number} got ${flow.first} of ${author.type} ${author.number}, and never ${i}`,
        )
        return
      }
    }
  }
}
