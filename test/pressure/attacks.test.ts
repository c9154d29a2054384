/** Attacks on a socket in a separate process, and its memory after each. */
import { describe, expect, test } from "vitest"
import { type EndpointOptions, Request } from "zeromq-lz4"
import { Codec } from "zeromq-lz4/codec"

import { payload } from "../../bench/payloads.mjs"
import { type RawPeer, rawPeer, rawZmtpPeer } from "../support/raw-peer.js"
import { Script } from "../support/running-script.js"
import { eventually, use } from "../support/sockets.js"
import { concat, plainPart } from "../support/wire.js"
import {
  arenaOfEmptyParts,
  COMMAND,
  frame,
  frameHead,
  greeting,
  handshake,
  MOST_EMPTY_PARTS,
  message,
} from "../support/zmtp.js"
import { ALL, SHARE } from "./extent.js"

const MIB = 2 ** 20
/** Limits of remaining resident memory and buffers. */
const LEFT_MAX_BYTES = 32 * MIB
/**
 * Makes allocators return freed memory. glibc keeps it, and V8's young generation grows with activity,
 * so resident memory would say more about them than about this package.
 */
const TRIM = {
  MALLOC_ARENA_MAX: "1",
  MALLOC_MMAP_THRESHOLD_: "16384",
  MALLOC_TRIM_THRESHOLD_: "65536",
  NODE_OPTIONS: "--max-semi-space-size=1",
}
/** Number of checks without new messages, after which no more will arrive. */
const QUIET_LOOKS = 40
/** Messages that warm up the codec, the socket and its thread before the first measurement. */
const WARM_MESSAGES = 100
const WARM_PUBLISHED = { count: 5000, bytes: 10_000 }

/** The victim, controlled by a REQ, whose messages name these functions. */
const VICTIM = `
  import { setFlagsFromString } from "node:v8"
  import { runInNewContext } from "node:vm"
  setFlagsFromString("--expose-gc")
  const gc = runInNewContext("gc")
  const { type, options, endpointOptions } = argument
  const socket = new zmq[type]({ maxMessageSize: 1 << 24, ...options })
  const control = new zmq.Reply()
  await socket.bind("lz4+tcp://127.0.0.1:*", endpointOptions)
  await control.bind("lz4+tcp://127.0.0.1:*")
  const calls = {
    look: () => ({ ...socket.lz4.stats.received, connections: socket.lz4.connections.length }),
    /** Receives until the socket is closed. */
    receive: () => { (async () => { for (;;) await socket.receive() })().catch(() => {}) },
    publish: async ({ count, bytes }) => {
      const part = Buffer.alloc(bytes)
      for (let i = 0; i < count; i++) {
        part.write(i + " message")
        await socket.send(part).catch(() => {})
      }
    },
    /** Binds a ZAP handler that never replies. */
    authenticate: async () => {
      const handler = new zmq.Router()
      await handler.bind("inproc://zeromq.zap.01")
    },
    close: () => socket.close(),
    memory: async () => {
      for (let i = 0; i < 3; i++) {
        gc()
        await new Promise((resolve) => setImmediate(resolve))
      }
      const { rss, external } = process.memoryUsage()
      return { rss, external }
    },
  }
  console.log(JSON.stringify([socket.lastEndpoint, control.lastEndpoint]))
  for await (const [request] of control) {
    const { call, given } = JSON.parse(request)
    await control.send(JSON.stringify((await calls[call](given)) ?? {}))
  }`

interface Look {
  messages: number
  plainBytes: number
  connections: number
}
interface Memory {
  rss: number
  external: number
}

class Victim {
  endpoint = ""
  readonly #script: Script
  readonly #request = use(new Request())
  readonly peers: RawPeer[] = []

  constructor(argument: object) {
    this.#script = new Script(VICTIM, argument, "unlimited", TRIM)
  }

  async start(): Promise<this> {
    const [endpoint, control] = JSON.parse(await this.#script.line())
    this.endpoint = endpoint
    this.#request.connect(control)
    return this
  }

  async call<T = object>(call: string, given?: object): Promise<T> {
    await this.#request.send(JSON.stringify({ call, given }))
    return JSON.parse(String((await this.#request.receive())[0])) as T
  }

  look(): Promise<Look> {
    return this.call<Look>("look")
  }

  /** Waits until no more messages arrive. */
  async quiet(): Promise<void> {
    let before = await this.look()
    for (let looks = 0; looks < QUIET_LOOKS; looks++) {
      const now = await this.look()
      if (now.plainBytes !== before.plainBytes || now.connections !== before.connections) looks = 0
      before = now
    }
  }

  /** Connects peers, each with a completed handshake; those without `read` then stop reading. */
  async join(count: number, type: string, reads: boolean, bytes?: Uint8Array): Promise<RawPeer[]> {
    const joined = await Promise.all(
      Array.from({ length: count }, () => rawZmtpPeer(this.endpoint, type)),
    )
    this.peers.push(...joined)
    for (const peer of joined) {
      if (!reads) peer.socket.pause()
      if (bytes) peer.socket.write(bytes)
    }
    return joined
  }

  /** Connects peers that send arbitrary bytes. */
  async dial(count: number, bytes: Uint8Array): Promise<void> {
    const dialled = Array.from({ length: count }, () => rawPeer(this.endpoint, bytes))
    this.peers.push(...(await Promise.all(dialled)))
  }

  /** Waits until all peers are gone and the victim has noticed. */
  async leave(): Promise<void> {
    for (const { socket } of this.peers.splice(0)) socket.destroy()
    await eventually(async () => (await this.look()).connections === 0)
  }
}

const codec = Codec.createSync()
const repeated = (bytes: Uint8Array, count: number): Buffer =>
  Buffer.concat(Array(count).fill(bytes))
const times = (count: number): number => (ALL ? 5 * count : count)
const command = (name: string, data: Uint8Array = new Uint8Array()): Uint8Array =>
  frame(concat(Uint8Array.of(name.length), Buffer.from(name), data), COMMAND)

const bomb = message(codec.encodePart(Buffer.alloc(MIB, "x")))
const noise = message(plainPart(payload("random", 64 * 1024)))
const small = message(plainPart(Buffer.alloc(100, "small ")))
const manyParts = message(...Array.from({ length: 5000 }, () => plainPart(new Uint8Array())))
const emptyParts = message(arenaOfEmptyParts(MOST_EMPTY_PARTS))
const subscribeAll = message(plainPart(Uint8Array.of(1)))
const subscriptions = (topics: Iterable<string>): Buffer =>
  Buffer.concat(Array.from(topics, (topic) => command("SUBSCRIBE", Buffer.from(topic))))

interface Attack {
  type: string
  options?: object
  attack(victim: Victim): Promise<unknown>
}

/** Sends `bytes` from each of some peers, `count` times. */
const sends = (peers: number, type: string, bytes: Uint8Array, count: number) => {
  return async (victim: Victim) => {
    await victim.join(peers, type, true, repeated(bytes, count))
    await victim.quiet()
  }
}
const whileReceiving = (attack: Attack["attack"]) => async (victim: Victim) => {
  await victim.call("receive")
  await attack(victim)
}

/** Publishes to subscribers that do not read. */
const published = (peers: number, count: number, bytes: number) => async (victim: Victim) => {
  await victim.join(peers, "SUB", false, subscribeAll)
  await victim.quiet()
  await victim.call("publish", { count, bytes })
}

const attacks: Record<string, Attack> = {
  "bombs for a PULL that does not receive": {
    type: "Pull",
    attack: sends(4, "PUSH", bomb, times(100)),
  },
  "bombs for an XPUB that does not receive": {
    type: "XPublisher",
    attack: sends(4, "XSUB", bomb, times(100)),
  },
  "bombs for a PULL that receives": {
    type: "Pull",
    attack: whileReceiving(sends(4, "PUSH", bomb, times(200))),
  },
  "a flood of 64 KiB for a PULL that receives": {
    type: "Pull",
    attack: whileReceiving(sends(4, "PUSH", noise, times(300))),
  },
  "a flood of 64 KiB for a PULL that does not receive": {
    type: "Pull",
    options: { receiveHighWaterMark: 10 },
    attack: sends(20, "PUSH", noise, times(40)),
  },
  "small messages for a ROUTER that does not receive": {
    type: "Router",
    attack: sends(20, "DEALER", small, times(5000)),
  },
  "messages of many small parts": {
    type: "Pull",
    attack: sends(10, "PUSH", manyParts, times(100)),
  },
  "arenas of empty parts for a PULL that receives": {
    type: "Pull",
    attack: whileReceiving(sends(50, "PUSH", emptyParts, times(40))),
  },
  "arenas of empty parts for a PULL that does not receive": {
    type: "Pull",
    attack: sends(50, "PUSH", emptyParts, times(40)),
  },
  "incomplete frames": {
    type: "Pull",
    attack: sends(50, "PUSH", concat(frameHead(8 * MIB), plainPart(Buffer.alloc(MIB, "half"))), 1),
  },
  "frames of 2^62 bytes": {
    type: "Pull",
    attack: async (victim) => {
      const peers = await victim.join(50, "PUSH", true, frameHead(2n ** 62n))
      await Promise.all(peers.map(({ closed }) => closed))
    },
  },
  "incomplete handshakes": {
    type: "Pull",
    attack: async (victim) => {
      await victim.dial(times(300), handshake("PUSH").subarray(0, 70))
      await victim.quiet()
    },
  },
  "HELLOs that the ZAP handler does not answer": {
    type: "Pull",
    options: { plainServer: true, zapDomain: "domain", handshakeInterval: 60_000 },
    attack: async (victim) => {
      await victim.call("authenticate")
      const hello = command("HELLO", Buffer.from("\x04user\x08password"))
      await victim.dial(times(300), concat(greeting({ mechanism: "PLAIN" }), hello))
      await victim.quiet()
    },
  },
  "PINGs of peers that do not read": {
    type: "Pull",
    attack: async (victim) => {
      const ping = command("PING", concat(new Uint8Array(2), Buffer.alloc(16, "context ")))
      await victim.join(10, "PUSH", false, repeated(ping, times(20_000)))
      await victim.quiet()
    },
  },
  "large messages for subscribers that do not read": {
    type: "Publisher",
    options: { sendHighWaterMark: 10 },
    attack: published(30, times(200), 64 * 1024),
  },
  "small messages for subscribers that do not read": {
    type: "Publisher",
    attack: published(times(30), 20_000, 1000),
  },
  "a conflating PUB with subscribers that do not read": {
    type: "Publisher",
    options: { conflate: true },
    attack: published(10, times(5000), 10_000),
  },
  "messages for subscribers that read slowly": {
    type: "Publisher",
    attack: async (victim) => {
      const peers = await victim.join(20, "SUB", false, subscribeAll)
      await victim.quiet()
      const timer = setInterval(() => {
        for (const { socket } of peers) socket.read(1000)
      }, 5)
      await victim.call("publish", { count: times(20_000), bytes: 1000 })
      clearInterval(timer)
    },
  },
  "a subscriber to one message in ten that does not read, beside one that reads all": {
    type: "Publisher",
    attack: async (victim) => {
      await victim.join(1, "SUB", false, subscriptions(["9"]))
      await victim.join(1, "SUB", true, subscribeAll)
      await victim.quiet()
      await victim.call("publish", { count: times(20_000), bytes: 1000 })
    },
  },
  "topics of all lengths": {
    type: "XPublisher",
    attack: async (victim) => {
      const topics = Array.from({ length: 2500 }, (_, i) => "t".repeat(i + 1))
      await victim.join(2, "SUB", true, subscriptions(topics))
      await victim.quiet()
      await victim.call("publish", { count: times(200), bytes: 8192 })
    },
  },
  "an XPUB that does not receive, with subscribers that keep changing their topics": {
    type: "XPublisher",
    attack: async (victim) => {
      const change = (i: number) =>
        concat(command("SUBSCRIBE", Buffer.from(`${i}`)), command("CANCEL", Buffer.from(`${i}`)))
      const changes = Buffer.concat(Array.from({ length: times(40_000) }, (_, i) => change(i)))
      await victim.join(2, "SUB", true, changes)
      await victim.quiet()
    },
  },
  "connections that come and go": {
    type: "Pull",
    attack: whileReceiving(async (victim) => {
      for (let i = 0; i < times(20); i++) {
        await victim.join(20, "PUSH", true, repeated(small, 10))
        await victim.leave()
      }
    }),
  },
}

/** In the gate each attack is made once: every other one on connections on a thread. */
const madeOn =
  (place: number) =>
  (_: unknown, i: number): boolean =>
    SHARE === 1 || i % 2 === place

describe.each([
  ["", {}],
  [" with a thread", { thread: true }],
] as [string, EndpointOptions][])("memory%s is released", (_, endpointOptions) => {
  const made = Object.entries(attacks).filter(madeOn(endpointOptions.thread ? 1 : 0))

  test.each(made)("after %s", async (_, { type, options, attack }) => {
    const victim = await new Victim({ type, options, endpointOptions }).start()
    if (type === "Publisher") {
      await victim.join(4, "SUB", true, subscribeAll)
      await victim.quiet()
      await victim.call("publish", WARM_PUBLISHED)
      await victim.leave()
    } else if (options === undefined) {
      await victim.join(4, peerOf(type), true, repeated(small, WARM_MESSAGES))
      await victim.quiet()
      await victim.leave()
    }
    const before = await victim.call<Memory>("memory")
    await attack(victim)
    // As in libzmq, a connection that is not read does not notice that its peer has left.
    for (const { socket } of victim.peers) socket.destroy()
    await victim.call("close")
    let left = before
    await eventually(async () => {
      const { rss, external } = await victim.call<Memory>("memory")
      left = { rss: rss - before.rss, external: external - before.external }
      return left.rss < LEFT_MAX_BYTES && left.external < LEFT_MAX_BYTES
    }).catch(() => {})
    expect(left.rss).toBeLessThan(LEFT_MAX_BYTES)
    expect(left.external).toBeLessThan(LEFT_MAX_BYTES)
  })
})

function peerOf(type: string): string {
  const peers: Record<string, string> = { Pull: "PUSH", Router: "DEALER", XPublisher: "XSUB" }
  return peers[type] ?? "SUB"
}
