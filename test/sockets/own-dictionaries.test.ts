/**
 * A dictionary that is trained by itself consists of bytes of messages that its peer was sent (RFC.md
 * section 8.3). Each peer here is sent messages in an alphabet of its own, so a byte tells for whom it
 * was.
 */
import { once } from "node:events"
import { describe, expect, onTestFinished, test } from "vitest"
import * as native from "zeromq"
import { Dealer, Pair, Publisher, Push, Reply, Request, Router, XPublisher } from "zeromq-lz4"
import { Codec } from "zeromq-lz4/codec"

import { createRandom } from "../../bench/random.mjs"
import { type RawPeer, rawPeer } from "../support/raw-peer.js"
import { RunningBridge } from "../support/running-bridge.js"
import { type AnySocket, eventually, use } from "../support/sockets.js"
import { concat, formOf, plainPart } from "../support/wire.js"
import { handshake, message, messagesOf, parseStream } from "../support/zmtp.js"

const TRIGGER = 5
const ALPHABETS = { a: "aeioubcd", b: "ABCDEFGH", c: "01234567" }
type Name = keyof typeof ALPHABETS
const NAMES = Object.keys(ALPHABETS) as Name[]

const random = createRandom("own dictionaries")
/** Returns messages that have much in common, all in the alphabet of one peer. */
function textsFor(name: Name): () => string {
  const letters = ALPHABETS[name]
  const word = (length: number) =>
    Array.from({ length }, () => letters[random.below(letters.length)]).join("")
  const words = Array.from({ length: 12 }, () => word(12))
  let count = 0
  return () => `${letters[0]}${words.join(letters[1])}${word(6)}${words[count++ % 12]}`
}
const next = Object.fromEntries(NAMES.map((name) => [name, textsFor(name)])) as Record<
  Name,
  () => string
>

/** A peer that decodes what it is sent. */
class Peer {
  readonly name: Name
  readonly raw: RawPeer
  readonly #chunks: Buffer[] = []

  static async connect(
    endpoint: string,
    name: Name,
    type: string,
    revision?: number,
  ): Promise<Peer> {
    const peer = new Peer(name, await rawPeer(endpoint, handshake(type, revision)))
    onTestFinished(() => peer.raw.close())
    await eventually(() => parseStream(concat(...peer.#chunks)).frames.length > 0)
    return peer
  }

  private constructor(name: Name, raw: RawPeer) {
    this.name = name
    this.raw = raw
    raw.socket.on("data", (chunk) => this.#chunks.push(chunk))
  }

  get #wire(): Uint8Array[][] {
    return messagesOf(parseStream(concat(...this.#chunks)).frames)
  }

  /** The messages received so far, in one string each. */
  get received(): string[] {
    using codec = Codec.createSync()
    return this.#wire
      .flatMap((wire) => codec.decode(wire))
      .map((parts) => Buffer.from(concat(...parts)).toString())
  }

  get dictionaries(): string[] {
    return this.#wire.flatMap(([part]) =>
      part && formOf(part) === "LZ4D" ? [Buffer.from(part.subarray(4)).toString("latin1")] : [],
    )
  }

  say(...parts: string[]): void {
    this.raw.socket.write(message(...parts.map((part) => plainPart(Buffer.from(part)))))
  }

  /** Resolves when a message has arrived. */
  async got(text: string): Promise<void> {
    await eventually(() => this.received.some((one) => one.endsWith(text)))
  }

  async leave(): Promise<void> {
    const closed = once(this.raw.socket, "close")
    this.raw.socket.end()
    await closed
  }

  /** The names whose letters occur in the dictionary. */
  get readable(): Name[] {
    const all = this.dictionaries.join("")
    return NAMES.filter((name) => [...ALPHABETS[name]].some((letter) => all.includes(letter)))
  }
}

/** Sends messages to a peer until it has been sent a dictionary. Returns how many there were. */
async function untilTrained(
  peer: Peer,
  send: (text: string, peer: Peer) => unknown,
): Promise<number> {
  for (let count = 1; ; count++) {
    const text = next[peer.name]()
    await send(text, peer)
    await peer.got(text)
    if (peer.dictionaries.length > 0) return count
  }
}

/** A socket type that sends each message to one peer: the peer's type, and how to send one. */
const unicast: Record<
  string,
  {
    make: () => AnySocket
    type: string
    /** Whether a peer may be chosen; otherwise the first has left when the second comes. */
    chooses?: true
    send: (socket: never, text: string, peer: Peer) => Promise<unknown>
  }
> = {
  Push: { make: () => new Push(), type: "PULL", send: (push: Push, text) => push.send(text) },
  Dealer: {
    make: () => new Dealer(),
    type: "ROUTER",
    send: (dealer: Dealer, text) => dealer.send(text),
  },
  Pair: { make: () => new Pair(), type: "PAIR", send: (pair: Pair, text) => pair.send(text) },
  Request: {
    make: () => new Request(),
    type: "REP",
    async send(request: Request, text, peer) {
      await request.send(text)
      await peer.got(text)
      peer.say("", "done")
      await request.receive()
    },
  },
  Reply: {
    make: () => new Reply(),
    type: "REQ",
    chooses: true,
    async send(reply: Reply, text, peer) {
      peer.say("", "question")
      await reply.receive()
      await reply.send(text)
    },
  },
  Router: {
    make: () => new Router(),
    type: "DEALER",
    chooses: true,
    async send(router: Router, text, peer) {
      peer.say("question")
      const [id] = await router.receive()
      await router.send([id as Buffer, text])
    },
  },
}

const ways = [false, true].flatMap((thread) => [
  { thread, revision: undefined },
  { thread, revision: 2 },
])

describe.each(ways)("with %j", ({ thread, revision }) => {
  describe.each(Object.entries(unicast))("%s", (_, { make, type, chooses, send }) => {
    const bound = async (autoDictionary: object) => {
      const socket = use(make())
      await socket.bind("lz4+tcp://127.0.0.1:*", { thread, autoDictionary })
      const connect = (name: Name) =>
        Peer.connect(socket.lastEndpoint as string, name, type, revision)
      return { connect, to: (text: string, peer: Peer) => send(socket as never, text, peer) }
    }

    test("sends each peer a dictionary of its own messages only", async () => {
      const { connect, to } = await bound({ trigger: TRIGGER })
      const first = await connect("a")
      await untilTrained(first, to)
      if (!chooses) await first.leave()
      const second = await connect("b")
      expect(await untilTrained(second, to)).toBeGreaterThan(TRIGGER)
      expect(first.readable).toEqual(["a"])
      expect(second.readable).toEqual(["b"])
      expect(second.dictionaries).toHaveLength(1)
    })

    test("sends all peers the same, if that was asked for", async () => {
      const { connect, to } = await bound({ trigger: TRIGGER, shared: true })
      const first = await connect("a")
      await untilTrained(first, to)
      if (!chooses) await first.leave()
      const second = await connect("b")
      expect(await untilTrained(second, to)).toBe(1)
      expect(second.readable).toEqual(["a"])
    })
  })

  describe("XPublisher", () => {
    /** Subscribes to the messages for the names, which begin with the first letters of their alphabets. */
    async function publisher() {
      const socket = use(new XPublisher({ verbosity: "allSubs" }))
      await socket.bind("lz4+tcp://127.0.0.1:*", { thread, autoDictionary: { trigger: TRIGGER } })
      const subscribe = async (name: Name, ...others: Name[]) => {
        const peer = await Peer.connect(socket.lastEndpoint as string, name, "SUB", revision)
        for (const one of [name, ...others]) {
          peer.say(`\x01${ALPHABETS[one][0]}`)
          await socket.receive()
        }
        return peer
      }
      return { subscribe, send: (text: string) => socket.send(text) }
    }

    test("sends subscribers of different topics dictionaries of their own messages only", async () => {
      const { subscribe, send } = await publisher()
      const peers = [await subscribe("a"), await subscribe("b"), await subscribe("c")]
      for (let i = 0; i < 4 * TRIGGER; i++) for (const name of NAMES) await send(next[name]())
      for (const peer of peers) await untilTrained(peer, send)
      for (const peer of peers) expect(peer.readable).toEqual([peer.name])
    })

    test("sends those with the same topics the same, and those who come later others", async () => {
      const { subscribe, send } = await publisher()
      const [one, other] = [await subscribe("a"), await subscribe("a")]
      await untilTrained(one, send)
      const text = next.a()
      await send(text)
      await other.got(text)
      expect(one.readable).toEqual(["a"])
      expect(other.dictionaries).toEqual(one.dictionaries)
      const late = await subscribe("b")
      await untilTrained(late, send)
      expect(late.readable).toEqual(["b"])
    })

    test("does not train on what only some of a group were sent", async () => {
      const { subscribe, send } = await publisher()
      const [only, both] = [await subscribe("a"), await subscribe("b", "a")]
      await send(next.a())
      for (let i = 0; i < TRIGGER; i++) await send(next.b())
      await untilTrained(only, send)
      const text = next.a()
      await send(text)
      await both.got(text)
      expect(only.readable).toEqual(["a"])
      expect(both.dictionaries).toEqual(only.dictionaries)
    })
  })

  test("Publisher sends subscribers dictionaries of their own messages only", async () => {
    const socket = use(new Publisher())
    await socket.bind("lz4+tcp://127.0.0.1:*", { thread, autoDictionary: { trigger: TRIGGER } })
    const send = (text: string) => socket.send(text)
    for (const name of ["a", "b"] as const) {
      const peer = await Peer.connect(socket.lastEndpoint as string, name, "SUB", revision)
      peer.say(`\x01${ALPHABETS[name][0]}`)
      await eventually(async () => {
        await send(next[name]())
        return peer.received.length > 0
      })
      await untilTrained(peer, send)
      expect(peer.readable).toEqual([name])
    }
  })
})

describe("the bridge", () => {
  async function bridged(...options: string[]) {
    const push = new native.Push({ linger: 0 })
    onTestFinished(() => push.close())
    await push.bind("tcp://127.0.0.1:*")
    const bridge = await RunningBridge.start(
      "lz4+tcp://127.0.0.1:*",
      push.lastEndpoint as string,
      ...options,
    )
    onTestFinished(() => bridge.signal("SIGKILL"))
    const connect = (name: Name) => Peer.connect(bridge.endpoint, name, "PULL")
    return { connect, send: (text: string) => push.send(text) }
  }

  test("sends each peer a dictionary of its own messages only", async () => {
    const { connect, send } = await bridged("--auto-dictionary")
    const first = await connect("a")
    await untilTrained(first, send)
    await first.leave()
    const second = await connect("b")
    expect(await untilTrained(second, send)).toBeGreaterThan(100)
    expect(first.readable).toEqual(["a"])
    expect(second.readable).toEqual(["b"])
  })

  test("sends all peers the same, if that was asked for", async () => {
    const { connect, send } = await bridged("--auto-dictionary=shared")
    const first = await connect("a")
    await untilTrained(first, send)
    await first.leave()
    const second = await connect("b")
    expect(await untilTrained(second, send)).toBe(1)
    expect(second.readable).toEqual(["a"])
  })
})
