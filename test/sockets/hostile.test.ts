/**
 * Malicious peers: breaking a rule ends their connection, their memory is bounded, and nobody else
 * notices (RFC.md section 7).
 */
import { once } from "node:events"
import { connect, type Socket } from "node:net"
import fc from "fast-check"
import { describe, expect, onTestFinished, test } from "vitest"
import { type ProtocolErrorEvent, Publisher, Pull, Push, Subscriber } from "zeromq-lz4"

import { portOf, rawPeer, rawZmtpPeer } from "../support/raw-peer.js"
import { Script } from "../support/running-script.js"
import { sleep } from "../support/sleep.js"
import { eventually, subscribed, use } from "../support/sockets.js"
import { concat, plainPart } from "../support/wire.js"
import { COMMAND, frame, frameHead, greeting, MORE, message } from "../support/zmtp.js"

const MIB = 2 ** 20
/** Limit of memory growth, whatever one peer does. */
const HELD_MAX_BYTES = 128 * MIB
const ADDRESS = "lz4+tcp://127.0.0.1:*"

const ascii = (text: string): Uint8Array => Buffer.from(text, "latin1")
const command = (name: string, data: Uint8Array): Uint8Array =>
  frame(concat(Uint8Array.of(name.length), ascii(name), data), COMMAND)
const repeat = (bytes: Uint8Array, times: number): Buffer =>
  Buffer.alloc(bytes.length * times, bytes)

/** Writes as fast as possible until all is written, or the other side closes or stops reading. */
async function flood(socket: Socket, chunks: Iterable<Uint8Array>): Promise<void> {
  for (const chunk of chunks) {
    if (socket.destroyed) return
    const written = new Promise<boolean>((resolve) => socket.write(chunk, () => resolve(true)))
    if (!(await Promise.race([written, sleep(1000, false)]))) return
  }
}

function* times(count: number, make: (i: number) => Uint8Array): Generator<Uint8Array> {
  for (let i = 0; i < count; i++) yield make(i)
}

/**
 * A process whose socket is attacked. It receives all messages and prints those that begin with
 * "honest"; with "idle" it receives nothing.
 */
class Victim {
  readonly script: Script
  endpoint = ""

  private constructor(
    type: string,
    { idle = false, throws = false, options = {}, descriptors = 0 },
  ) {
    this.script = new Script(
      `const { readFileSync } = await import("node:fs");
      const socket = new zmq[argument.type](argument.options);
      globalThis.kept = socket; // collect garbage, which also closes sockets
      (await import("node:v8")).setFlagsFromString("--expose-gc");
      const collect = (await import("node:vm")).runInNewContext("gc");
      const rss = () => Number(/VmRSS:\\s+(\\d+)/.exec(readFileSync("/proc/self/status", "utf8"))[1]) * 1024;
      process.on("SIGUSR2", () => {
        collect(); // live objects count, not uncollected garbage
        console.log(JSON.stringify({ rss: rss(), connections: socket.lz4.connections.length }));
      });
      process.on("uncaughtException", (error) => console.log("uncaught " + error.message));
      socket.lz4.on("protocolError", ({ error }) => {
        console.log("protocolError " + error.code);
        if (argument.throws) throw new Error("thrown on purpose")
      });
      await socket.bind("${ADDRESS}"); console.log(socket.lastEndpoint);
      if (argument.idle) setInterval(() => {}, 1000);
      else if (socket.receive) for await (const [first] of socket)
        if (String(first.subarray(0, 6)) === "honest") console.log(String(first))`,
      { type, idle, options, throws },
      descriptors || "unlimited",
    )
  }

  static async start(
    type: string,
    settings: { idle?: boolean; throws?: boolean; options?: object; descriptors?: number } = {},
  ): Promise<Victim> {
    const victim = new Victim(type, settings)
    victim.endpoint = await victim.script.line()
    return victim
  }

  async state(): Promise<{ rss: number; connections: number }> {
    this.script.process.kill("SIGUSR2")
    return JSON.parse(await this.script.line())
  }
}

/** An honest peer, whose messages must arrive. */
class Honest {
  readonly #victim: Victim
  readonly #push: Push = use(new Push({ reconnectInterval: 20 }))
  disconnects = 0
  #sent = 0

  constructor(victim: Victim) {
    this.#victim = victim
    this.#push.lz4.on("disconnect", () => this.disconnects++)
    this.#push.connect(victim.endpoint)
  }

  async works(): Promise<void> {
    await this.arrives()
    expect(this.disconnects).toBe(0)
  }

  async arrives(): Promise<void> {
    const text = `honest ${this.#sent++}`
    await this.#push.send(text)
    expect(await this.#victim.script.line()).toBe(text)
  }
}

async function attacker(endpoint: string, socketType = "PUSH"): Promise<Socket> {
  const { socket } = await rawZmtpPeer(endpoint, socketType)
  onTestFinished(() => {
    socket.destroy()
  })
  return socket
}

/**
 * Attacks a victim: its memory must stay below the limit, and an honest peer, if there is one, must not
 * notice.
 */
async function attack(
  victim: Victim,
  how: (victim: Victim) => Promise<unknown>,
  { honest, maxBytes = HELD_MAX_BYTES }: { honest?: Honest; maxBytes?: number } = {},
): Promise<void> {
  await honest?.works()
  const { rss } = await victim.state()
  await how(victim)
  await honest?.works()
  expect((await victim.state()).rss - rss).toBeLessThan(maxBytes)
}

/** A peer that sends many bytes, whether or not they are read. */
const flooding =
  (chunks: Iterable<Uint8Array>, socketType?: string) =>
  async ({ endpoint }: Victim): Promise<void> =>
    flood(await attacker(endpoint, socketType), chunks)

describe("memory stays bounded, and an honest peer notices nothing, while one sends", () => {
  test("18 MB of empty parts of one message: expelled with ERR_ZMTP_PARTS", async () => {
    const victim = await Victim.start("Pull")
    const empty = repeat(frame(plainPart(ascii("")), MORE), 17_000)
    const parts = async () => {
      await flooding(times(180, () => empty))(victim)
      expect(await victim.script.line()).toBe("protocolError ERR_ZMTP_PARTS")
    }
    await attack(victim, parts, { honest: new Honest(victim) })
  })

  test("18 MB of messages of tiny parts, which nobody receives", async () => {
    const part = plainPart(ascii("x"))
    const tiny = concat(repeat(frame(part, MORE), 65_535), frame(part))
    const victim = await Victim.start("Pull", { idle: true })
    await attack(victim, flooding(times(40, () => tiny)))
  })

  test("64 MB of PINGs, and never reads", async () => {
    const victim = await Victim.start("Pull")
    const ping = command("PING", concat(new Uint8Array(2), ascii("sixteen bytes :)")))
    const pings = repeat(ping, 10_000)
    const deaf = async () =>
      flood(
        (await attacker(victim.endpoint)).pause(),
        times(280, () => pings),
      )
    await attack(victim, deaf, { honest: new Honest(victim) })
  })

  test("unknown commands", async () => {
    const victim = await Victim.start("Pull")
    const unknown = command("UNKNOWN", new Uint8Array(MIB - 10))
    await attack(victim, flooding(times(64, () => unknown)), { honest: new Honest(victim) })
  })

  test.each(["Publisher", "XPublisher"])("a million short subscriptions to a %s", async (type) => {
    const victim = await Victim.start(type, { idle: true })
    const subscriptions = times(100, (i) =>
      concat(...times(10_000, (j) => command("SUBSCRIBE", ascii(`topic ${i * 10_000 + j}`)))),
    )
    // 2^18 of them are kept, which uses the most memory in Node 24.
    await attack(victim, flooding(subscriptions, "SUB"), { maxBytes: 2 * HELD_MAX_BYTES })
  })

  test.each(["Publisher", "XPublisher"])("a flood of long subscriptions to a %s", async (type) => {
    const victim = await Victim.start(type, { idle: true })
    const subscriptions = times(300, (i) =>
      command("SUBSCRIBE", ascii(`topic ${i}`.padEnd(1_000_000))),
    )
    await attack(victim, flooding(subscriptions, "SUB"))
  })

  test("beginnings of frames, over many connections", async () => {
    const victim = await Victim.start("Pull")
    const begin = async () => {
      for (let i = 0; i < 50; i++) {
        const socket = await attacker(victim.endpoint)
        socket.write(concat(frameHead(2n ** 31n), plainPart(ascii("a few bytes"))))
      }
    }
    await attack(victim, begin, { honest: new Honest(victim) })
    expect((await victim.state()).connections).toBe(51)
  })

  test("requests, and never reads", async () => {
    const victim = new Script(
      `const { readFileSync } = await import("node:fs");
      const rss = () => Number(/VmRSS:\\s+(\\d+)/.exec(readFileSync("/proc/self/status", "utf8"))[1]) * 1024;
      const router = new zmq.Router({ sendHighWaterMark: 10 }); await router.bind("${ADDRESS}"); console.log(router.lastEndpoint);
      const answer = Buffer.alloc(100_000, Math.random().toString(36).repeat(100)); const noise = (await import("node:crypto")).randomBytes(100_000);
      let before; let count = 0;
      for await (const [id] of router) { await router.send([id, noise]); if (++count === 100) before = rss(); if (count === 5000) console.log(rss() - before) }`,
      {},
    )
    const endpoint = await victim.line()
    const socket = (await attacker(endpoint, "DEALER")).pause()
    await flood(
      socket,
      times(50, () => repeat(message(plainPart(ascii("question"))), 100)),
    )
    expect(Number(await victim.line())).toBeLessThan(HELD_MAX_BYTES)
  })
})

describe("an invalid frame is refused at its header, before its body arrives", () => {
  test.each<[what: string, code: string, head: Uint8Array]>([
    ["a frame that fits maxMessageSize in no form", "ERR_LZ4_BUDGET_EXCEEDED", frameHead(100_000)],
    ["a frame of 2^62 bytes", "ERR_LZ4_BUDGET_EXCEEDED", frameHead(2n ** 62n)],
    ["a command of over 1 MiB", "ERR_ZMTP_COMMAND", frameHead(MIB + 1, COMMAND)],
    ["a command of 2^62 bytes", "ERR_ZMTP_COMMAND", frameHead(2n ** 62n, COMMAND)],
  ])("%s: %s", async (_, code, head) => {
    const pull = use(new Pull({ maxMessageSize: 10_000 }))
    await pull.bind(ADDRESS)
    const reported = once(pull.lz4, "protocolError")
    const peer = use(await rawZmtpPeer(pull.lastEndpoint as string, "PUSH", head))
    expect((await reported)[0].error.code).toBe(code)
    await peer.closed
  })

  test("a command of the handshake of over 64 KiB: ERR_ZMTP_COMMAND", async () => {
    const pull = use(new Pull())
    await pull.bind(ADDRESS)
    const reported = once(pull.lz4, "protocolError")
    const peer = use(
      await rawPeer(pull.lastEndpoint as string, concat(greeting(), frameHead(65_537, COMMAND))),
    )
    expect((await reported)[0].error.code).toBe("ERR_ZMTP_COMMAND")
    await peer.closed
  })
})

test("whatever a peer sends in its handshake, the error is short and printable", async () => {
  const pull = use(new Pull())
  await pull.bind(ADDRESS)
  const bytes = (maxLength: number) => fc.uint8Array({ maxLength })
  let errors = 0
  const hello = fc.oneof(
    bytes(100),
    bytes(30).map((one) => concat(greeting().subarray(0, 12), one, new Uint8Array(64))),
    bytes(500).map((one) => concat(greeting(), one, new Uint8Array(600))),
    fc
      .tuple(fc.constantFrom("READY", "ERROR", "HELLO", "X".repeat(250)), bytes(60_000))
      .map(([name, data]) => concat(greeting(), command(name, data))),
    bytes(60_000).map((one) => {
      const type = concat(
        ascii("\x0bSocket-Type"),
        Uint8Array.of(0, 0, one.length >> 8, one.length),
        one,
      )
      return concat(greeting(), command("READY", type))
    }),
  )
  await fc.assert(
    fc.asyncProperty(hello, async (hello) => {
      const reported: Promise<ProtocolErrorEvent[]> = once(pull.lz4, "protocolError")
      const gone = once(pull.lz4, "disconnect")
      const peer = await rawPeer(pull.lastEndpoint as string, hello)
      // The beginning of a handshake is not an error yet.
      peer.socket.end()
      await gone
      peer.close()
      const told = await Promise.race([reported, undefined])
      if (!told) {
        pull.lz4.removeAllListeners("protocolError")
        return
      }
      errors++
      expect(told[0]?.error.message).toMatch(/^[\x20-\x7e…]{10,500}$/u)
    }),
    { numRuns: 60 },
  )
  expect(errors).toBeGreaterThan(20)
})

test("a listener that throws neither keeps a peer connected nor affects others", async () => {
  const victim = await Victim.start("Pull", { throws: true })
  const honest = new Honest(victim)
  await honest.works()
  for (let i = 0; i < 3; i++) {
    const peer = use(await rawZmtpPeer(victim.endpoint, "PUSH", message(ascii("no sentinel"))))
    expect(await victim.script.line()).toBe("protocolError ERR_LZ4_UNKNOWN_SENTINEL")
    expect(await victim.script.line()).toBe("uncaught thrown on purpose")
    await peer.closed
  }
  await honest.works()
  expect((await victim.state()).connections).toBe(1)
})

describe("connections that do not complete their handshake", () => {
  test("beyond 4096 of them the oldest is closed, and honest peers are served", async () => {
    const victim = await Victim.start("Pull", {
      // None is closed for its age.
      options: { backlog: 4096, handshakeInterval: 0 },
    })
    const honest = new Honest(victim)
    await honest.works()
    const { rss } = await victim.state()
    const open: Socket[] = []
    onTestFinished(() => {
      for (const socket of open) socket.destroy()
    })
    for (let i = 0; i < 100; i++) {
      const batch = Array.from({ length: 50 }, () => connect(portOf(victim.endpoint), "127.0.0.1"))
      for (const socket of batch) socket.on("error", () => {}).resume()
      await Promise.all(batch.map((socket) => once(socket, "connect")))
      open.push(...batch)
    }
    await new Honest(victim).works()
    await honest.works()
    const state = await eventually(async () => {
      const now = await victim.state()
      return now.connections <= 4098 && now
    })
    expect(state.connections).toBeGreaterThan(4000)
    expect(state.rss - rss).toBeLessThan(HELD_MAX_BYTES)
  })

  test.each([
    ["nothing", []],
    ["half a greeting", [...greeting().subarray(0, 30)]],
    ["a greeting and nothing more", [...greeting()]],
  ])("%s: ended after handshakeInterval", async (_, bytes) => {
    const pull = use(new Pull({ handshakeInterval: 200 }))
    await pull.bind(ADDRESS)
    const peer = use(await rawPeer(pull.lastEndpoint as string, Uint8Array.from(bytes)))
    await peer.closed
    await eventually(() => pull.lz4.connections.length === 0)
  })

  test("a byte now and then does not extend handshakeInterval", async () => {
    const pull = use(new Pull({ handshakeInterval: 300 }))
    await pull.bind(ADDRESS)
    const peer = use(await rawPeer(pull.lastEndpoint as string, new Uint8Array()))
    // Too long to be complete in time, even if the thread of the connection is late.
    const hello = concat(greeting(), frameHead(60_000, COMMAND), new Uint8Array(60_000))
    let sent = 0
    const dribble = setInterval(() => peer.socket.write(hello.subarray(sent, ++sent)), 20)
    await peer.closed
    clearInterval(dribble)
    expect(sent).toBeLessThan(hello.length)
  })

  test("after the handshake, a byte now and then is enough", async () => {
    const pull = use(new Pull({ handshakeInterval: 3000 }))
    await pull.bind(ADDRESS)
    const socket = await attacker(pull.lastEndpoint as string)
    for (const byte of message(plainPart(ascii("slow")))) {
      socket.write(Uint8Array.of(byte))
      await sleep(400) // more than handshakeInterval together
    }
    expect(String(await pull.receive())).toBe("slow")
  })
})

test("a subscriber that does not read uses no more memory than its high-water mark allows, and others do not notice", async () => {
  const publisher = use(new Publisher({ sendHighWaterMark: 10 }))
  await publisher.bind(ADDRESS)
  const endpoint = publisher.lastEndpoint as string
  const lazy = await attacker(endpoint, "SUB")
  lazy.pause().write(command("SUBSCRIBE", ascii("")))
  const subscriber = use(new Subscriber({ receiveHighWaterMark: 0 }))
  subscriber.connect(endpoint)
  subscriber.subscribe("")
  await subscribed(publisher, subscriber)
  const noise = Buffer.from(Float64Array.from({ length: 12_500 }, Math.random).buffer)
  const before = process.memoryUsage()
  for (let i = 0; i < 2000; i++) {
    await publisher.send([String(i), noise])
    expect(String((await subscriber.receive())[0])).toBe(String(i))
  }
  const after = process.memoryUsage()
  expect(after.arrayBuffers - before.arrayBuffers).toBeLessThan(64 * MIB)
})

test("out of file descriptors, existing connections work, and new ones do once there are descriptors", async () => {
  const victim = await Victim.start("Pull", { descriptors: 128 })
  const honest = new Honest(victim)
  await honest.works()
  const open = Array.from({ length: 200 }, () =>
    connect(portOf(victim.endpoint), "127.0.0.1").resume(),
  )
  // A peer that finds no room may be reset before or after it is connected.
  await Promise.all(
    open.map(
      (socket) => new Promise((settled) => socket.on("connect", settled).on("error", settled)),
    ),
  )
  for (let i = 0; i < 5; i++) {
    await sleep(100)
    await honest.works()
  }
  for (const socket of open) socket.destroy()
  // The system may still close new connections, which are retried.
  await new Honest(victim).arrives()
  await honest.works()
  await eventually(async () => (await victim.state()).connections === 2)
})
