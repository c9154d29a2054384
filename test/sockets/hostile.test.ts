/**
 * Malicious peers: breaking a rule ends their connection, their memory is bounded, and nobody else
 * notices (RFC.md section 7).
 */
import { once } from "node:events"
import { connect, type Socket } from "node:net"
import fc from "fast-check"
import { describe, expect, onTestFinished, test } from "vitest"
import { type ProtocolErrorEvent, Publisher, Pull, Subscriber } from "zeromq-lz4"

import { payload } from "../../bench/payloads.mjs"
import { ascii, command, HELD_MAX_BYTES, testAttacksOnMemory } from "../support/memory-attacks.js"
import { portOf, rawPeer, rawZmtpPeer } from "../support/raw-peer.js"
import { sleep } from "../support/sleep.js"
import { eventually, subscribed, use } from "../support/sockets.js"
import { isInFull } from "../support/transports.js"
import { ADDRESS, attacker, Honest, Victim } from "../support/victim.js"
import { concat, plainPart } from "../support/wire.js"
import { COMMAND, frameHead, greeting, message } from "../support/zmtp.js"

const MIB = 2 ** 20

// What the process holds. test/quiet checks that too, and what the system gave to it, without and with a thread.
if (isInFull)
  testAttacksOnMemory((before, after, maxBytes) => {
    expect(after.live - before.live).toBeLessThan(maxBytes)
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
    expect(await victim.line()).toBe("protocolError ERR_LZ4_UNKNOWN_SENTINEL")
    expect(await victim.line()).toBe("uncaught thrown on purpose")
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
    const { live } = await victim.state()
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
    expect(state.live - live).toBeLessThan(HELD_MAX_BYTES)
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
    const endpoint = pull.lastEndpoint as string
    const socket = await attacker(endpoint)
    // One that connects later and is silent shows that handshakeInterval is over.
    const silent = use(await rawPeer(endpoint, new Uint8Array()))
    let isOver = false
    void silent.closed.then(() => {
      isOver = true
    })
    const bytes = message(plainPart(ascii("slow")))
    for (const byte of bytes.subarray(0, -1)) {
      socket.write(Uint8Array.of(byte))
      await sleep(200)
    }
    await eventually(() => isOver)
    socket.write(bytes.subarray(-1))
    expect(String(await pull.receive())).toBe("slow")
  })
})

test("for a subscriber that does not read no more is kept than its high-water mark allows, and others do not notice", async () => {
  const publisher = use(new Publisher({ sendHighWaterMark: 10 }))
  await publisher.bind(ADDRESS)
  const endpoint = publisher.lastEndpoint as string
  const lazy = await attacker(endpoint, "SUB")
  lazy.pause().write(command("SUBSCRIBE", ascii("")))
  const subscriber = use(new Subscriber({ receiveHighWaterMark: 0 }))
  subscriber.connect(endpoint)
  subscriber.subscribe("")
  await subscribed(publisher, subscriber)
  const noise = payload("random", 100_000)
  // More than the limit below.
  for (let i = 0; i < 800; i++) {
    await publisher.send([String(i), noise])
    expect(String((await subscriber.receive())[0])).toBe(String(i))
  }
  // Whatever was kept for it arrives before the next message.
  let bytes = 0
  let tail = Buffer.alloc(0)
  lazy.on("data", (chunk: Buffer) => {
    bytes += chunk.length
    tail = Buffer.concat([tail, chunk]).subarray(-100)
  })
  lazy.resume()
  await eventually(async () => {
    await publisher.send("the last") // dropped as long as there is no room
    return tail.includes("the last")
  })
  expect(bytes).toBeGreaterThan(noise.length)
  expect(bytes).toBeLessThan(64 * MIB)
})
