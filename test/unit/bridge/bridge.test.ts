/** `zeromq-lz4 bridge`, between sockets that write bytes directly. */
import { spawn } from "node:child_process"
import { existsSync, readFileSync } from "node:fs"
import { connect, type Socket } from "node:net"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { describe, expect, onTestFinished, test, vi } from "vitest"

import { payload } from "../../../bench/payloads.mjs"
import { Bridge } from "../../../src/bridge/bridge.js"
import { checkLz4Options } from "../../../src/codec/options.js"
import { notLibzmq } from "../../../src/zmtp/greeting.js"
import { type CommandResult, main, runCommand } from "../../support/command.js"
import { directoryOfTests } from "../../support/directory-of-tests.js"
import { sha256 } from "../../support/hash.js"
import {
  type RawEnd,
  RawServer,
  rawClient,
  rawZmtpClient,
  SIGNATURE,
} from "../../support/raw-ends.js"
import { RunningBridge } from "../../support/running-bridge.js"
import { Running } from "../../support/running-script.js"
import { eventually, freePort } from "../../support/sockets.js"
import { type Item, message, streamsOf, verbatim } from "../../support/transcoding.js"
import { concat } from "../../support/wire.js"
import {
  arenaOfEmptyParts,
  COMMAND,
  frame,
  greeting,
  handshake,
  MOST_EMPTY_PARTS,
  messagesOf,
  parseStream,
  ready,
} from "../../support/zmtp.js"

const { directory, at, file } = directoryOfTests()

/** Runs a bridge that ends by itself. */
const run = (...args: string[]): Promise<CommandResult> =>
  runCommand(directory, ["bridge", ...args])

const LZ4 = "lz4+tcp://127.0.0.1:0"
const PLAIN = "tcp://127.0.0.1:0"

const hello = verbatim(notLibzmq(handshake("PUSH"), 0))
const text = payload("lorem", 3000)
const noise = payload("random", 3000)
const conversation: Item[] = [
  hello,
  ...message(text),
  ...message(noise.subarray(0, 5), new Uint8Array(), text),
  ...message(payload("json", 200_000)),
  ...message(noise),
]

interface Sides {
  bridge: RunningBridge
  /** The side that connected, and the side that was dialled. */
  client: RawEnd
  server: RawEnd
  plain: RawEnd
  lz4: RawEnd
}

type From = "plain" | "lz4+tcp"
const both: From[] = ["plain", "lz4+tcp"]

/** A bridge, and a connection through it. */
async function joined(from: From, ...options: string[]): Promise<Sides> {
  const listening = await RawServer.start()
  const [listen, dial] = from === "plain" ? [PLAIN, "lz4+tcp"] : [LZ4, "tcp"]
  const to = `${dial}://127.0.0.1:${listening.port}`
  const bridge = await RunningBridge.start(listen, to, ...options)
  const client = await rawZmtpClient(bridge.endpoint)
  const server = await listening.accept()
  const [plain, lz4] = from === "plain" ? [client, server] : [server, client]
  return { bridge, client, server, plain, lz4 }
}

const received = (end: RawEnd, bytes: number) => eventually(() => end.receivedBytes >= bytes)

/** Resets one side of an established link, and closes the other after its end. */
async function reset(side: RawEnd, other: RawEnd): Promise<void> {
  side.socket.write(greeting())
  await received(other, greeting().length)
  side.socket.resetAndDestroy()
  await eventually(() => other.ended)
  other.socket.end()
}

describe("wrong usage exits with 2 and explains the right one", () => {
  const ends = ["--from", PLAIN, "--to", "lz4+tcp://127.0.0.1:1"]
  test.each<[says: string, args: string[]]>([
    ["--from URL", ["--to", LZ4]],
    ["--to URL", ["--from", LZ4]],
    [
      "one of the two ends must be lz4+tcp:// or zstd+tcp://",
      ["--from", PLAIN, "--to", "ipc:///tmp/x"],
    ],
    ["one of the two ends must be lz4+tcp:// or zstd+tcp://", ["--from", LZ4, "--to", LZ4]],
    ["different addresses", ["--from", "tcp://127.0.0.1:5", "--to", "lz4+tcp://127.0.0.1:5"]],
    ["expected lz4+tcp://, zstd+tcp://, tcp:// or ipc://", ["--from", "udp://x:1", "--to", LZ4]],
    ['"tcp://x" has no port', ["--from", "tcp://x", "--to", "lz4+tcp://x:1"]],
    ["which is only for binding", ["--from", PLAIN, "--to", "lz4+tcp://*:1"]],
    ["expected HOST:PORT", ["--from", "tcp://x", "--to", "lz4+tcp://x:1"]],
    ["only --from may have *", ["--from", PLAIN, "--to", "lz4+tcp://*:1"]],
    ["the port must be 1 to 65535", ["--from", PLAIN, "--to", LZ4]],
    ['"ipc://" has no path', ["--from", LZ4, "--to", "ipc://"]],
    ["expected a path", ["--from", LZ4, "--to", "ipc://"]],
    ["bytes; at most", ["--from", LZ4, "--to", `ipc://${"x".repeat(200)}`]],
    ["--level must be 0, or 3 to 12; got 2", [...ends, "--level", "2"]],
    [
      '--level must be a whole number, "none" or "adaptive"; got "high"',
      [...ends, "--level", "high"],
    ],
    ["--acceleration applies to --level 0 only", [...ends, "--level", "9", "--acceleration", "2"]],
    ["--revision must be an integer from 1 to 2; got 3", [...ends, "--revision", "3"]],
    ["--max-message-size must be an integer", [...ends, "--max-message-size=-2"]],
    ['--max-message-size must be a whole number; got "1M"', [...ends, "--max-message-size", "1M"]],
    [
      "--dictionary and --auto-dictionary exclude each other",
      [...ends, "--auto-dictionary", "--dictionary", file("small.dict", "small")],
    ],
    ["--max-plain-message-size must be -1 to", [...ends, "--max-plain-message-size=-2"]],
    ["--max-parts must be 1 to 2147483647; got 0", [...ends, "--max-parts", "0"]],
    ["--max-connections must be 1 to 2147483647; got 0", [...ends, "--max-connections", "0"]],
    ["--stats must be 1 to 86400 seconds; got 0", [...ends, "--stats=0"]],
    ["--bogus", [...ends, "--bogus"]],
    ["'more'", [...ends, "more"]],
  ])("%s", async (says, args) => {
    const { status, stdout, stderr } = await run(...args)
    expect({ status, stdout }).toEqual({ status: 2, stdout: "" })
    expect(stderr).toContain(says)
    expect(stderr.split("\n").slice(1)).toEqual([
      expect.stringMatching(/^usage: zeromq-lz4 bridge /),
      "see zeromq-lz4 bridge --help",
      "",
    ])
  })
})

describe("other failures exit with 1 and print one line", () => {
  const missing = "ipc:///nowhere/at/all"
  const dial = "lz4+tcp://127.0.0.1:1"
  test.each<[says: string, args: string[]]>([
    ["no such file", ["--from", PLAIN, "--to", dial, "--dictionary", at("missing")]],
    ["is a directory", ["--from", PLAIN, "--to", dial, "--dictionary", directory]],
    ["1 to 8192 bytes long; got 0", ["--from", PLAIN, "--to", dial, "--dictionary", file("0", "")]],
    [
      "Cannot assign requested address",
      ["--from", "lz4+tcp://192.0.2.1:0", "--to", "ipc:///tmp/x"],
    ],
    ["no interface, address or host", ["--from", "lz4+tcp://no.such.invalid:0", "--to", missing]],
    [
      "cannot listen on ipc:///nowhere/at/all: no such file or directory",
      ["--from", missing, "--to", dial],
    ],
    ["a file that is not a socket", ["--from", `ipc://${file("file", "kept")}`, "--to", dial]],
  ])("%s: %j", async (says, args) => {
    const { status, stdout, stderr } = await run(...args)
    expect({ status, stdout }).toEqual({ status: 1, stdout: "" })
    expect(stderr).toContain(says)
    expect(stderr.trimEnd().split("\n")).toHaveLength(1)
  })

  test("an existing file is not deleted", () => {
    expect(readFileSync(at("file"), "utf8")).toBe("kept")
  })

  test("bridge exits with 1 if its address is in use", async () => {
    const { port } = await RawServer.start()
    const { status, stderr } = await run("--from", `tcp://127.0.0.1:${port}`, "--to", dial)
    expect({ status, stderr }).toEqual({
      status: 1,
      stderr: `zeromq-lz4: cannot listen on tcp://127.0.0.1:${port}: Address already in use\n`,
    })
  })

  test("a Unix socket in use, which its owner keeps", async () => {
    const endpoint = `ipc://${at("used")}`
    const server = await RawServer.start(endpoint)
    const { status, stderr } = await run("--from", endpoint, "--to", dial)
    expect({ status, stderr }).toEqual({
      status: 1,
      stderr: `zeromq-lz4: cannot listen on ${endpoint}: address already in use\n`,
    })
    await server.accept() // the connection of the bridge, which checked
    await rawClient(endpoint)
    await server.accept()
  })
})

describe("the address is printed with the real port", () => {
  test.each([
    ["tcp://*:*", "lz4+tcp://127.0.0.1:1", /^tcp:\/\/0\.0\.0\.0:[1-9]\d*$/],
    ["lz4+tcp://127.0.0.1:0", "tcp://127.0.0.1:1", /^lz4\+tcp:\/\/127\.0\.0\.1:[1-9]\d*$/],
    ["lz4+tcp://localhost:*", "ipc://@x", /^lz4\+tcp:\/\/127\.0\.0\.1:[1-9]\d*$/],
    ["lz4+tcp://[::1]:*", "ipc://@x", /^lz4\+tcp:\/\/\[::1\]:[1-9]\d*$/],
  ])("%s", async (from, to, endpoint) => {
    const bridge = await RunningBridge.start(from, to)
    expect(bridge.endpoint).toMatch(endpoint)
    await rawClient(bridge.endpoint.replace("0.0.0.0", "127.0.0.1"))
  })
})

describe.each(both)("from %s", (from) => {
  test("both directions are passed on byte for byte", async () => {
    const { bridge, plain, lz4 } = await joined(from)
    const streams = streamsOf(conversation)
    plain.socket.write(streams.plain)
    lz4.socket.write(streams.wire)
    await received(lz4, streams.wire.length)
    await received(plain, streams.plain.length)
    expect(sha256(lz4.received)).toBe(sha256(streams.wire))
    expect(sha256(plain.received)).toBe(sha256(streams.plain))

    plain.socket.end()
    await eventually(() => lz4.ended)
    lz4.socket.end()
    const { plainBytes, wireBytes } = streams.traffic
    const flow = `4 messages, ${plainBytes} bytes as ${wireBytes} on the wire`
    const { input: line } = await bridge.until(/^#1 closed/)
    expect(line).toContain(`sent ${flow}`)
    expect(line).toContain(`received ${flow}`)
  })

  test("a connection is printed with both addresses", async () => {
    const { bridge, client, server } = await joined(from)
    const [, ...addresses] = await bridge.until(/^#1 connected: (\S+) to (\S+)$/)
    const [there, back] = from === "plain" ? ["tcp", "lz4+tcp"] : ["lz4+tcp", "tcp"]
    expect(addresses).toEqual([
      `${there}://127.0.0.1:${client.socket.localPort}`,
      `${back}://127.0.0.1:${server.socket.localPort}`,
    ])
  })

  test("options determine how it sends and what it accepts", async () => {
    const dictionary = payload("json", 2000)
    const options = ["--dictionary", file("json.dict", dictionary), "--level", "9"]
    const { bridge, plain, lz4 } = await joined(from, ...options, "--max-message-size", "5000")
    const streams = streamsOf(conversation, { dictionary, level: 9 })
    plain.socket.write(streams.plain)
    await received(lz4, streams.wire.length)
    expect(sha256(lz4.received)).toBe(sha256(streams.wire))

    lz4.socket.write(streams.wire)
    const [, side] = await bridge.until(/^#1 protocol error by (\S+): ERR_LZ4_BUDGET_EXCEEDED/)
    expect(side).toBe(`lz4+tcp://127.0.0.1:${lz4.socket.localPort}`)
    await eventually(() => plain.ended && lz4.ended)
  })

  test.each(["plain", "lz4"] as const)(
    "the end of the %s side reaches the other, after all its bytes",
    async (side) => {
      const ends = await joined(from)
      const streams = streamsOf([hello, ...Array(50).fill(message(text)).flat()])
      const [closing, other, there, arrives] =
        side === "plain"
          ? [ends.plain, ends.lz4, streams.plain, streams.wire]
          : [ends.lz4, ends.plain, streams.wire, streams.plain]
      closing.socket.end(there)
      await eventually(() => other.ended)
      expect(sha256(other.received)).toBe(sha256(arrives))
      // Neither side stays half-open, which ZMTP does not use.
      await ends.bridge.until(/^#1 closed/)
    },
  )

  test.each(["plain", "lz4"] as const)("a reset of the %s side ends the other", async (side) => {
    const ends = await joined(from)
    if (side === "plain") await reset(ends.plain, ends.lz4)
    else await reset(ends.lz4, ends.plain)
    await ends.bridge.until(/^#1 closed/)
  })

  test("while the other side is unreachable, connections are closed, which is printed once", async () => {
    const port = await freePort()
    const [listen, dial] = from === "plain" ? [PLAIN, "lz4+tcp"] : [LZ4, "tcp"]
    const to = `${dial}://127.0.0.1:${port}`
    const bridge = await RunningBridge.start(listen, to)
    for (let i = 0; i < 3; i++) {
      const client = await rawClient(bridge.endpoint)
      client.socket.write(handshake("PUSH"))
      await eventually(() => client.ended)
    }
    const server = await RawServer.start(`tcp://127.0.0.1:${port}`)
    const client = await rawClient(bridge.endpoint)
    client.socket.write(greeting())
    await received(await server.accept(), greeting().length)
    await bridge.until(/^#1 connected/)
    const failed = bridge.lines.filter((line) => line.startsWith("cannot connect"))
    expect(failed).toHaveLength(1)
    expect(failed[0]).toMatch(
      /^cannot connect to (lz4\+)?tcp:\/\/127\.0\.0\.1:\d+: connection refused; closed (lz4\+)?tcp:/,
    )
  })

  test("a reader that stops also stops the writer, and little is buffered", async () => {
    const { plain, lz4 } = await joined(from)
    const stream = streamsOf([
      hello,
      ...Array(100)
        .fill(message(payload("random", 1 << 20)))
        .flat(),
    ])
    lz4.socket.pause()
    for (let i = 0; i < stream.plain.length; i += 1 << 16)
      plain.socket.write(stream.plain.subarray(i, i + (1 << 16)))
    let before = -1
    await eventually(async () => {
      const { bytesWritten, writableLength } = plain.socket
      const through = bytesWritten - writableLength
      const stopped = through === before && through > 1000
      before = through
      // A bridge that gets no time meanwhile has only taken less.
      await sleep(300)
      return stopped
    })
    expect(plain.socket.writableLength).toBeGreaterThan(stream.plain.length / 2)

    lz4.socket.resume()
    await received(lz4, stream.wire.length)
    expect(sha256(lz4.received)).toBe(sha256(stream.wire))
  })
})

describe("a side that breaks a rule", () => {
  test("loses its connection, and no other does", async () => {
    const server = await RawServer.start()
    const bridge = await RunningBridge.start(LZ4, `tcp://127.0.0.1:${server.port}`)
    const good = await rawZmtpClient(bridge.endpoint)
    const goodPlain = await server.accept()
    const bad = await rawZmtpClient(bridge.endpoint)
    const badPlain = await server.accept()

    const streams = streamsOf(conversation)
    bad.socket.write(Buffer.concat([streams.wire, frame(Buffer.from("no sentinel"))]))
    const { input: line } = await bridge.until(/^#2 protocol error/)
    expect(line).toContain(`by lz4+tcp://127.0.0.1:${bad.socket.localPort}: `)
    expect(line).toContain("ERR_LZ4_UNKNOWN_SENTINEL")
    await eventually(() => bad.ended && badPlain.ended)
    expect(sha256(badPlain.received)).toBe(sha256(streams.plain)) // earlier bytes were passed on

    good.socket.write(streams.wire)
    await received(goodPlain, streams.plain.length)
    expect(sha256(goodPlain.received)).toBe(sha256(streams.plain))
  })

  test.each(both)("is named if it is the one that is dialled, from %s", async (from) => {
    const { bridge, plain, lz4, server } = await joined(from)
    server.socket.write("HTTP/1.1 400 Bad Request\r\n\r\n")
    const [, side, why] = await bridge.until(/^#1 protocol error by (\S+): (.*)$/)
    const scheme = from === "plain" ? "lz4+tcp" : "tcp"
    expect(side).toBe(`${scheme}://127.0.0.1:${server.socket.localPort}`)
    expect(why).toContain("ERR_ZMTP_GREETING: the greeting looks like HTTP")
    await eventually(() => plain.ended && lz4.ended)
  })

  test.each(both)("may send no message before its handshake is over, from %s", async (from) => {
    const { bridge, plain, lz4 } = await joined(from)
    const [offender, other] = from === "plain" ? [plain, lz4] : [lz4, plain]
    const body = from === "plain" ? Buffer.from("early") : Buffer.from("LZ4Dearly")
    offender.socket.write(greeting())
    await received(other, greeting().length)
    offender.socket.write(concat(frame(body), ready("PUSH")))
    const { input: line } = await bridge.until(/^#1 protocol error/)
    expect(line).toContain("ERR_ZMTP_HANDSHAKE: a message came before the handshake was over")
    await eventually(() => plain.ended && lz4.ended)
    expect(other.receivedBytes).toBe(greeting().length)
  })

  test("gets the error that CURVE cannot be used", async () => {
    const { bridge, plain } = await joined("plain")
    plain.socket.write(greeting({ mechanism: "CURVE" }))
    const { input: line } = await bridge.until(/^#1 protocol error/)
    expect(line).toContain('asks for the mechanism "CURVE"; NULL and PLAIN are supported')
    await eventually(() => plain.ended)
  })
})

/** Returns the header of a frame with a body of 2^62 bytes. */
const endless = Uint8Array.of(2, 0x40, 0, 0, 0, 0, 0, 0, 0)

describe("limits: a side that exceeds one loses its connection", () => {
  describe.each(both)("from %s", (from) => {
    test("a plain frame of 2^62 bytes is refused at its header, and earlier messages are passed on", async () => {
      const { bridge, plain, lz4 } = await joined(from)
      const streams = streamsOf(conversation)
      plain.socket.write(Buffer.concat([streams.plain, endless]))
      const [, side, why] = await bridge.until(/^#1 protocol error by (\S+): (.*)$/)
      expect(side).toBe(`tcp://127.0.0.1:${plain.socket.localPort}`)
      expect(why).toBe(
        "ERR_LZ4_BUDGET_EXCEEDED: part 0 declares 4611686018427387904 bytes; 134217728 left of --max-plain-message-size 134217728",
      )
      await eventually(() => plain.ended && lz4.ended)
      expect(sha256(lz4.received)).toBe(sha256(streams.wire))
    })

    test("a frame of 2^62 bytes over lz4+tcp is refused too", async () => {
      const { bridge, plain, lz4 } = await joined(from)
      lz4.socket.write(Buffer.concat([handshake("PUSH"), endless, Buffer.from("LZ4M")]))
      const [, side, why] = await bridge.until(/^#1 protocol error by (\S+): (.*)$/)
      expect(side).toBe(`lz4+tcp://127.0.0.1:${lz4.socket.localPort}`)
      expect(why).toMatch(/^ERR_LZ4_BUDGET_EXCEEDED: .* left of --max-message-size 134217728$/)
      await eventually(() => plain.ended && lz4.ended)
    })

    test.each(["plain", "lz4"] as const)(
      "a command of 2^62 bytes, from the %s side, is passed on as it arrives",
      async (side) => {
        const ends = await joined(from)
        const [sends, gets] = side === "plain" ? [ends.plain, ends.lz4] : [ends.lz4, ends.plain]
        let arrived = 0
        gets.socket.removeAllListeners("data")
        gets.socket.on("data", ({ length }) => {
          arrived += length
        })
        const command = Uint8Array.of(6, 0x40, 0, 0, 0, 0, 0, 0, 0)
        const start = Buffer.concat([handshake("PUSH"), command])
        sends.socket.write(start)
        const chunk = Buffer.alloc(1 << 20)
        // Much more than the buffers on the way hold; test/quiet sends more.
        for (let i = 0; i < 64; i++)
          await new Promise((resolve) => sends.socket.write(chunk, resolve))
        await eventually(() => arrived === start.length + 64 * chunk.length)
      },
    )

    test.each(["plain", "lz4"] as const)(
      "endless parts, from the %s side, are refused",
      async (side) => {
        const ends = await joined(from, "--max-parts", "10")
        const [sends, gets] = side === "plain" ? [ends.plain, ends.lz4] : [ends.lz4, ends.plain]
        const ten = frame(Buffer.alloc(side === "plain" ? 0 : 4), 1)
        const parts = Buffer.concat(Array(9).fill(ten))
        const last = frame(Buffer.alloc(4))
        sends.socket.write(Buffer.concat([handshake("PUSH"), parts, last, parts, ten]))
        await received(gets, handshake("PUSH").length + 19 * (side === "plain" ? 6 : 2) + 2)
        sends.socket.write(ten)
        const { input: line } = await ends.bridge.until(/^#1 protocol error/)
        expect(line).toContain("ERR_ZMTP_PARTS: a message has over 10 parts, which is --max-parts")
        await eventually(() => sends.ended && gets.ended)
      },
    )
  })

  test("parts inside an arena count", async () => {
    const { bridge, plain, lz4 } = await joined("plain", "--max-parts", "2")
    const part = Buffer.from("part")
    const frames = Buffer.concat([
      ...[frame(part, 1), frame(part)],
      ...[frame(part, 1), frame(part, 1), frame(part)],
    ])
    const arena = Buffer.alloc(16)
    arena.write("LZ4A")
    arena.writeUInt32LE(frames.length, 8)
    arena.writeUInt32LE(2, 12)
    const sent = frame(Buffer.concat([arena, frames]))
    lz4.socket.write(Buffer.concat([handshake("PUSH"), sent]))
    await bridge.until(/^#1 protocol error .* ERR_ZMTP_PARTS/)
    await eventually(() => plain.ended && lz4.ended)
    expect(messagesOf(parseStream(plain.received).frames)).toHaveLength(1)
  })

  test("an arena has as many empty parts as its bytes pay for, and not one more", async () => {
    const { bridge, plain, lz4 } = await joined("plain")
    const arenas = [MOST_EMPTY_PARTS, MOST_EMPTY_PARTS + 1].map((parts) =>
      frame(arenaOfEmptyParts(parts)),
    )
    lz4.socket.write(Buffer.concat([handshake("PUSH"), ...arenas]))
    await bridge.until(/^#1 protocol error .* ERR_LZ4_ARENA/)
    await eventually(() => plain.ended && lz4.ended)
    const passed = messagesOf(parseStream(plain.received).frames)
    expect(passed.map((parts) => parts.length)).toEqual([MOST_EMPTY_PARTS])
  })

  test("the limit is for all parts of a message together, whatever the chunks are", async () => {
    const { bridge, plain, lz4 } = await joined("plain", "--max-plain-message-size", "700")
    const whole = [
      handshake("PUSH"),
      frame(Buffer.alloc(400), 1),
      frame(Buffer.alloc(300)),
      frame(Buffer.alloc(700)),
      frame(Buffer.alloc(400), 1),
      frame(Buffer.alloc(301)),
    ]
    for (const byte of Buffer.concat(whole)) plain.socket.write(Uint8Array.of(byte))
    const { input: line } = await bridge.until(/^#1 protocol error/)
    expect(line).toContain("part 1 declares 301 bytes; 300 left of --max-plain-message-size 700")
    await eventually(() => lz4.ended)
    expect(messagesOf(parseStream(lz4.received).frames)).toHaveLength(2)
  })

  test("earlier messages also reach a slow reader", async () => {
    const { bridge, plain, lz4 } = await joined("plain")
    const parts = Array(100).fill(message(payload("random", 100_000)))
    const streams = streamsOf([hello, ...parts.flat()])
    lz4.socket.pause()
    plain.socket.write(Buffer.concat([streams.plain, endless]))
    // On a busy machine, the bridge may not have read all of it, and the reader is less slow.
    await sleep(300)
    lz4.socket.resume()
    await bridge.until(/^#1 protocol error .* part 0 declares 4611686018427387904 bytes/)
    await eventually(() => lz4.ended)
    expect(sha256(lz4.received)).toBe(sha256(streams.wire))
  })

  test("-1 is no limit", async () => {
    const { bridge, plain, lz4 } = await joined("plain", "--max-plain-message-size=-1")
    plain.socket.write(Buffer.concat([handshake("PUSH"), endless]))
    await received(lz4, handshake("PUSH").length)
    plain.socket.end()
    await bridge.until(/^#1 closed/)
    expect(bridge.lines.join()).not.toContain("protocol error")
  })

  test("connections beyond the maximum are closed, which is printed once, until one ends", async () => {
    const server = await RawServer.start()
    const to = `lz4+tcp://127.0.0.1:${server.port}`
    const bridge = await RunningBridge.start(PLAIN, to, "--max-connections", "2")
    const first = await established(bridge, server)
    const second = await established(bridge, server, [first.server])
    for (let i = 0; i < 3; i++) {
      const refused = await rawClient(bridge.endpoint)
      await eventually(() => refused.ended)
    }
    first.client.socket.end()
    await eventually(() => first.server.ended)
    first.server.socket.end()
    await bridge.until(/^#1 closed/)
    await established(bridge, server, [first.server, second.server])
    await bridge.until(/^#3 connected/)
    const said = bridge.lines.filter((line) => line.includes("--max-connections"))
    expect(said).toEqual([
      expect.stringMatching(
        /^there are 2 connections, which is --max-connections; closed tcp:\/\/127\.0\.0\.1:\d+$/,
      ),
    ])
  })
})

/** Connects a client, up to the end of its handshake. Others may connect meanwhile, and send less. */
async function established(bridge: RunningBridge, listening: RawServer, known: RawEnd[] = []) {
  const client = await rawClient(bridge.endpoint)
  const [hello, answer] = [handshake("PUSH"), handshake("PULL")]
  client.socket.write(hello)
  const isServer = (end: RawEnd) => !known.includes(end) && end.receivedBytes === hello.length
  const server = await eventually(() => listening.accepted.find(isServer) ?? false)
  server.socket.write(answer)
  await received(client, answer.length)
  return { client, server }
}

/** Waits until the bridge has read what other clients have sent before. */
async function hasRead(bridge: RunningBridge): Promise<void> {
  const client = await rawClient(bridge.endpoint)
  client.socket.end("x")
  await bridge.until(new RegExp(`^protocol error by \\S+:${client.socket.localPort}:`))
}

describe.each(both)("strangers, from %s", (from) => {
  const [listen, dial] = from === "plain" ? [PLAIN, "lz4+tcp"] : [LZ4, "tcp"]

  async function started(...options: string[]) {
    const server = await RawServer.start()
    const to = `${dial}://127.0.0.1:${server.port}`
    return { server, bridge: await RunningBridge.start(listen, to, ...options) }
  }

  test("nothing is dialled for a connection before the signature of a greeting", async () => {
    const { server, bridge } = await started()
    const silent = await rawClient(bridge.endpoint)
    const slow = await rawClient(bridge.endpoint)
    slow.socket.write(SIGNATURE.subarray(0, 9))
    const left = await rawClient(bridge.endpoint)
    left.socket.end(SIGNATURE.subarray(0, 9))
    await eventually(() => left.ended)
    await hasRead(bridge)
    const peer = await established(bridge, server)
    const [, address] = await bridge.until(/^#1 connected: (\S+)/)
    expect(address).toContain(`:${peer.client.socket.localPort}`)
    slow.socket.write(SIGNATURE.subarray(9))
    const isOther = (end: RawEnd) => end !== peer.server
    const dialled = await eventually(() => server.accepted.find(isOther) ?? false)
    await received(dialled, SIGNATURE.length)
    expect(Buffer.compare(dialled.received, SIGNATURE)).toBe(0)
    expect(silent.ended || slow.ended).toBe(false)
    expect(bridge.lines.filter((line) => line.includes("protocol error"))).toHaveLength(1)
  })

  test("what is no greeting is refused, and nothing is dialled for it", async () => {
    const { server, bridge } = await started("--json")
    for (const [bytes, says] of [
      ["GET / HTTP/1.1\r\n\r\n", "the greeting looks like HTTP"],
      ["\x16\x03\x01", "the greeting looks like TLS"],
      ["\xff\0\0\0\0\0\0\0\x01\x00", "not a ZMTP signature"],
    ] as const) {
      const client = await rawClient(bridge.endpoint)
      client.socket.write(Buffer.from(bytes, "latin1"))
      const { input } = await bridge.until(/"type":"error"/)
      expect(JSON.parse(input)).toMatchObject({
        connection: null,
        side: `${from === "plain" ? "tcp" : from}://127.0.0.1:${client.socket.localPort}`,
        code: "ERR_ZMTP_GREETING",
        message: expect.stringContaining(says),
      })
      await eventually(() => client.ended)
    }
    await established(bridge, server)
    await bridge.until(/"connection":1/)
  })

  test.each([
    ["are silent", new Uint8Array()],
    ["send a part of a signature", SIGNATURE.subarray(0, 9)],
    ["send a signature", SIGNATURE],
    ["send a greeting", greeting()],
    ["send a greeting and part of a command", concat(greeting(), Uint8Array.of(4, 25))],
  ])("as many as there may be connections lock nobody out: they %s", async (_, sent) => {
    const { server, bridge } = await started("--max-connections", "100")
    const first = await established(bridge, server)
    const strangers: RawEnd[] = []
    for (let i = 0; i < 150; i++) {
      const stranger = await rawClient(bridge.endpoint)
      stranger.socket.write(sent)
      strangers.push(stranger)
    }
    const peer = await established(bridge, server, [first.server])
    const streams = streamsOf([hello, ...message(text)])
    const helloBytes = streamsOf([hello])[from === "plain" ? "plain" : "wire"].length
    const [there, arrives] =
      from === "plain" ? [streams.plain, streams.wire] : [streams.wire, streams.plain]
    for (const { client, server } of [first, peer]) {
      client.socket.write(there.subarray(helloBytes))
      await received(server, arrives.length)
    }
    // The oldest have made room.
    await eventually(() => strangers.slice(0, 50).every(({ ended }) => ended))
    expect(strangers.filter(({ ended }) => ended).length).toBeLessThan(60)
  })

  test("a client may send everything at once, and close its side", async () => {
    const { server, bridge } = await started()
    const streams = streamsOf(conversation)
    const [sent, arrives] =
      from === "plain" ? [streams.plain, streams.wire] : [streams.wire, streams.plain]
    const client = await rawClient(bridge.endpoint)
    client.socket.end(sent)
    const end = await server.accept()
    await eventually(() => end.ended)
    expect(sha256(end.received)).toBe(sha256(arrives))
  })

  test("a client may send byte by byte", async () => {
    const { server, bridge } = await started()
    const streams = streamsOf([hello, ...message(text)])
    const [sent, arrives] =
      from === "plain" ? [streams.plain, streams.wire] : [streams.wire, streams.plain]
    const client = await rawClient(bridge.endpoint)
    for (const [i, byte] of sent.subarray(0, 12).entries()) {
      if (i === 9) await hasRead(bridge)
      client.socket.write(Uint8Array.of(byte))
    }
    const end = await server.accept()
    for (const byte of sent.subarray(12)) client.socket.write(Uint8Array.of(byte))
    await received(end, arrives.length)
    expect(sha256(end.received)).toBe(sha256(arrives))
  })
})

describe("connections whose handshake is not over", () => {
  // In this process, with fake timers for the 30 seconds.
  async function started(): Promise<Ended & { client: RawEnd; raw: RawServer }> {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] })
    const raw = await RawServer.start()
    const ended: Ended = { errors: [] }
    const handlers = {
      ...{ joined() {}, failed() {}, unreachable() {}, full() {} },
      refused: (_: unknown, error: Error) => ended.errors.push(error.message),
      ended: (_: unknown, error: Error | undefined) => ended.errors.push(error?.message),
    }
    const spec = {
      ...{ from: LZ4, to: `tcp://127.0.0.1:${raw.port}`, maxConnections: 1000 },
      settings: checkLz4Options({}, -1),
      limits: { maxBytes: -1, maxParts: 65_536 },
    }
    const bridge = new Bridge(spec, handlers)
    onTestFinished(async () => {
      vi.useRealTimers()
      await bridge.drain(0)
    })
    const client = await rawClient(await bridge.start())
    return Object.assign(ended, { client, raw })
  }
  interface Ended {
    errors: (string | undefined)[]
  }
  /** Waits without timers, which are fake. */
  async function until(condition: () => boolean): Promise<void> {
    while (!condition()) await new Promise((resolve) => setImmediate(resolve))
  }
  const whole = handshake("PUSH").length

  test("are closed after 30 seconds: the peer sends no signature", async () => {
    const { client, errors } = await started()
    client.socket.write(greeting().subarray(0, 9))
    await until(() => vi.getTimerCount() > 0)
    vi.advanceTimersByTime(29_999)
    expect(errors).toEqual([])
    vi.advanceTimersByTime(1)
    await until(() => errors.length > 0)
    expect(errors).toEqual(["no whole greeting came in 30 seconds"])
    await until(() => client.ended)
  })

  test.each([
    { client: 63, server: 64, says: "the lz4+tcp side sent no whole greeting" },
    { client: 64, server: 63, says: "the plain side sent no whole greeting" },
    { client: 10, server: 10, says: "the lz4+tcp side sent no whole greeting" },
    { client: 64, server: 64, says: "neither side completed its handshake" },
    { client: 64, server: whole, says: "the lz4+tcp side did not complete its handshake" },
    { client: whole, server: whole - 1, says: "the plain side did not complete its handshake" },
  ])("are closed after 30 seconds: $client and $server bytes, $says", async (bytes) => {
    const ends = await started()
    ends.client.socket.write(handshake("PUSH").subarray(0, bytes.client))
    const server = await ends.raw.accept()
    server.socket.write(handshake("PUSH").subarray(0, bytes.server))
    await until(() => server.receivedBytes === bytes.client)
    await until(() => ends.client.receivedBytes === bytes.server)
    vi.advanceTimersByTime(29_999)
    expect(ends.errors).toEqual([])
    vi.advanceTimersByTime(1)
    await until(() => ends.errors.length > 0)
    expect(ends.errors).toEqual([`${bytes.says} in 30 seconds`])
    await until(() => ends.client.ended && server.ended)
  })

  const command = (name: string, data = "") =>
    frame(Buffer.from(`${String.fromCharCode(name.length)}${name}${data}`, "latin1"), COMMAND)
  const plain = greeting({ mechanism: "PLAIN" })

  test.each([
    { mechanism: "NULL", client: handshake("PUSH"), server: handshake("PULL") },
    {
      mechanism: "PLAIN",
      client: concat(plain, command("HELLO", "\x01u\x01p"), command("INITIATE")),
      server: concat(plain, command("WELCOME"), command("READY")),
    },
  ])("are the only ones that are closed, with $mechanism", async ({ client, server }) => {
    const ends = await started()
    ends.client.socket.write(client)
    const dialled = await ends.raw.accept()
    dialled.socket.write(server)
    await until(() => dialled.receivedBytes === client.length)
    await until(() => ends.client.receivedBytes === server.length)
    vi.advanceTimersByTime(3_600_000)
    await new Promise((resolve) => setImmediate(resolve))
    expect(ends.errors).toEqual([])
    expect(ends.client.ended || dialled.ended).toBe(false)
  })
})

describe("Unix sockets", () => {
  test.each(["a path", "an abstract name"])("%s, in both directions", async (kind) => {
    const name =
      kind === "a path" ? (n: number) => at(`way${n}`) : (n: number) => `@${at(`way${n}`)}`
    const streams = streamsOf(conversation)
    const server = await RawServer.start()
    const listening = await RunningBridge.start(
      `ipc://${name(1)}`,
      `lz4+tcp://127.0.0.1:${server.port}`,
    )
    expect(listening.endpoint).toBe(`ipc://${name(1)}`)
    const client = await rawClient(listening.endpoint)
    client.socket.write(streams.plain)
    await received(await server.accept(), streams.wire.length)
    expect((await listening.until(/^#1 connected/)).input).toBe(
      `#1 connected: ipc://${name(1)} to lz4+tcp://127.0.0.1:${server.port}`,
    )

    const plain = await RawServer.start(`ipc://${name(2)}`)
    const dialling = await RunningBridge.start(LZ4, `ipc://${name(2)}`)
    const lz4 = await rawClient(dialling.endpoint)
    lz4.socket.write(streams.wire)
    const end = await plain.accept()
    await received(end, streams.plain.length)
    expect(sha256(end.received)).toBe(sha256(streams.plain))
  })

  test("the file of a killed process is replaced, and removed at the end", async () => {
    const endpoint = `ipc://${at("stale")}`
    const killed = await RunningBridge.start(endpoint, "lz4+tcp://127.0.0.1:1")
    killed.signal("SIGKILL")
    await killed.ended()
    expect(existsSync(at("stale"))).toBe(true)
    const bridge = await RunningBridge.start(endpoint, "lz4+tcp://127.0.0.1:1")
    await rawClient(endpoint)
    bridge.signal("SIGTERM")
    expect(await bridge.ended()).toEqual({ code: 0, signal: null })
    expect(existsSync(at("stale"))).toBe(false)
  })
})

test("statistics are those since the previous line", async () => {
  const { bridge, plain, lz4 } = await joined("plain", "--stats=1")
  const streams = streamsOf(conversation)
  plain.socket.write(streams.plain)
  await received(lz4, streams.wire.length)
  const { plainBytes, wireBytes, messages } = streams.traffic
  // Usually a single line has all of it.
  let before = { messages: 0, plainBytes: 0, wireBytes: 0 }
  while (before.messages < messages) {
    const [line, ...sent] = await bridge.until(
      /^connections: 1; sent ([1-9]\d*) messages\/s, (\d+) bytes\/s as (\d+)\/s on the wire.*/,
    )
    const [some, plain, wire] = sent.map(Number) as [number, number, number]
    const ratio = (plain / wire).toFixed(2)
    expect(line).toBe(
      `connections: 1; sent ${some} messages/s, ${plain} bytes/s as ${wire}/s on the wire (${ratio} ×); received 0 messages/s, 0 bytes/s as 0/s on the wire`,
    )
    before = {
      messages: before.messages + some,
      plainBytes: before.plainBytes + plain,
      wireBytes: before.wireBytes + wire,
    }
  }
  expect(before).toEqual({ messages, plainBytes, wireBytes })
  plain.socket.end()
  lz4.socket.end()
  await bridge.until(/^connections: 0; sent 0 messages/)
})

test("each line has the time in UTC at which it is printed", async () => {
  const before = Date.now()
  const args = [main, "bridge", "--from", PLAIN, "--to", "lz4+tcp://127.0.0.1:1"]
  const bridge = new Running(spawn(process.execPath, args))
  const [time, ...words] = (await bridge.line()).split(" ")
  expect(words.slice(0, 2)).toEqual(["listening", "on"])
  expect(time).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
  expect(Date.parse(time as string)).toBeGreaterThanOrEqual(before)
  expect(Date.parse(time as string)).toBeLessThanOrEqual(Date.now())
})

test("--json prints the same information, one object per line", async () => {
  const { bridge, client, server, plain, lz4 } = await joined(
    "plain",
    ...["--json", "--stats=1", "--max-connections", "1", "--max-message-size", "5000"],
  )
  const streams = streamsOf([hello, ...message(text)])
  plain.socket.write(streams.plain)
  await received(lz4, streams.wire.length)
  await bridge.until(/"type":"statistics".*"sent":{"messages":1,/)
  const answer = streamsOf([hello, ...message(payload("lorem", 5001))]).wire
  const helloBytes = streamsOf([hello]).wire.length
  lz4.socket.write(answer.subarray(0, helloBytes))
  await received(plain, helloBytes)
  const refused = await rawClient(bridge.endpoint)
  await bridge.until(/"type":"full"/)
  lz4.socket.write(answer.subarray(helloBytes))
  await bridge.until(/"type":"closed"/)
  bridge.signal("SIGTERM")
  await bridge.until(/"type":"ending"/)
  expect(await bridge.ended()).toEqual({ code: 0, signal: null })

  const lines = bridge.lines.map((line) => JSON.parse(line))
  for (const { time } of lines) expect(new Date(time).toISOString()).toBe(time)
  const told = lines
    .map(({ time, ...rest }) => rest)
    .filter(({ type, sent }) => type !== "statistics" || sent.messages > 0)
  const [from, to] = [
    `tcp://127.0.0.1:${client.socket.localPort}`,
    `lz4+tcp://127.0.0.1:${server.socket.localPort}`,
  ]
  const { messages, plainBytes, wireBytes } = streams.traffic
  const sent = { messages, plainBytes, wireBytes }
  const nothing = { messages: 0, plainBytes: 0, wireBytes: 0 }
  expect(told).toEqual([
    { type: "listening", endpoint: bridge.endpoint, to },
    { type: "connected", connection: 1, from, to },
    { type: "statistics", seconds: 1, connections: 1, sent, received: nothing },
    {
      type: "full",
      maxConnections: 1,
      closed: `tcp://127.0.0.1:${refused.socket.localPort}`,
    },
    {
      type: "error",
      connection: 1,
      side: to,
      code: "ERR_LZ4_BUDGET_EXCEEDED",
      message: expect.stringMatching(/^part 0 .* --max-message-size 5000$/),
    },
    { type: "closed", connection: 1, error: null, sent, received: nothing },
    { type: "ending", signal: "SIGTERM" },
  ])
})

test("--json has the reasons for failed connections and for connections that broke", async () => {
  const nowhere = await RunningBridge.start(PLAIN, "lz4+tcp://127.0.0.1:1", "--json")
  const closed = await rawZmtpClient(nowhere.endpoint)
  const { input: line } = await nowhere.until(/"type":"unreachable"/)
  expect(JSON.parse(line)).toMatchObject({
    to: "lz4+tcp://127.0.0.1:1",
    closed: `tcp://127.0.0.1:${closed.socket.localPort}`,
    code: "ECONNREFUSED",
    message: "connection refused",
  })

  const { bridge, plain, lz4 } = await joined("plain", "--json")
  await reset(lz4, plain)
  const { input: ended } = await bridge.until(/"type":"closed"/)
  expect(JSON.parse(ended).error).toEqual({
    code: "ECONNRESET",
    message: "connection reset by peer",
  })
})

describe("it continues silently after its output is closed", () => {
  const args = (port: number) => ["--from", PLAIN, "--to", `lz4+tcp://127.0.0.1:${port}`]

  async function passesOn(endpoint: string, server: RawServer): Promise<void> {
    for (let i = 0; i < 2; i++) {
      const client = await rawClient(endpoint)
      client.socket.end(greeting())
      const end = await server.accept()
      await received(end, greeting().length)
      end.socket.end()
      await eventually(() => client.ended)
    }
  }

  test.each([[[]], [["--json", "--stats=1"]]])("both streams; %j", async (options) => {
    const server = await RawServer.start()
    const to = `lz4+tcp://127.0.0.1:${server.port}`
    const bridge = await RunningBridge.start(PLAIN, to, ...options)
    bridge.process.stdout?.destroy()
    bridge.process.stderr?.destroy()
    await passesOn(bridge.endpoint, server)
    bridge.signal("SIGTERM")
    expect(await bridge.ended()).toEqual({ code: 0, signal: null })
  })

  test("a pipe, of which the first line was read", async () => {
    const server = await RawServer.start()
    const script = `exec 3>&1
      { "$@" 2>&1 & echo $! >&3; wait $!; echo "exit $?" >&3; } | head -n 1 >&3`
    const command = [process.execPath, main, "bridge", ...args(server.port)]
    const shell = new Running(spawn("sh", ["-c", script, "sh", ...command]))
    const pid = Number(await shell.line())
    let over = false
    onTestFinished(() => {
      if (!over) process.kill(pid, "SIGKILL")
    })
    const [, endpoint] = /listening on (\S+),/.exec(await shell.line()) as RegExpExecArray
    await passesOn(endpoint as string, server)
    process.kill(pid, "SIGTERM")
    expect(await shell.line()).toBe("exit 0")
    over = true
    expect(await shell.ended()).toEqual({ code: 0, signal: null })
    expect(shell.errors).toBe("")
  })

  test("a pipe that was never read", async () => {
    const port = await freePort()
    const from = `tcp://127.0.0.1:${port}`
    const server = await RawServer.start()
    const script = `exec 3>&1
      { "$@" 2>&1 & echo $! >&3; wait $!; echo "exit $?" >&3; } | true`
    const to = `lz4+tcp://127.0.0.1:${server.port}`
    const command = [process.execPath, main, "bridge", "--from", from, "--to", to]
    const shell = new Running(spawn("sh", ["-c", script, "sh", ...command]))
    const pid = Number(await shell.line())
    let over = false
    onTestFinished(() => {
      if (!over) process.kill(pid, "SIGKILL")
    })
    const probe = await eventually(
      () =>
        new Promise<Socket>((resolve, reject) => {
          const socket = connect(port, "127.0.0.1", () => resolve(socket))
          socket.once("error", reject)
        }),
    )
    probe.destroy()
    await passesOn(from, server)
    process.kill(pid, "SIGTERM")
    expect(await shell.line()).toBe("exit 0")
    over = true
  })
})

describe("SIGINT and SIGTERM", () => {
  test.each(["SIGINT", "SIGTERM"] as const)(
    "%s ends a bridge without connections",
    async (signal) => {
      const bridge = await RunningBridge.start(PLAIN, "lz4+tcp://127.0.0.1:1")
      bridge.signal(signal)
      expect(await bridge.ended()).toEqual({ code: 0, signal: null })
      expect(bridge.errors).toBe("")
    },
  )

  test("a connection that is still being dialled does not matter", async () => {
    // An unused address.
    const bridge = await RunningBridge.start(PLAIN, "lz4+tcp://192.0.2.1:1")
    await rawZmtpClient(bridge.endpoint)
    bridge.signal("SIGTERM")
    expect(await bridge.ended()).toEqual({ code: 0, signal: null })
  })

  test.each(both.flatMap((from) => (["plain", "lz4"] as const).map((sends) => ({ from, sends }))))(
    "all bytes of the $sends side before the signal are passed on; from $from",
    async ({ from, sends }) => {
      const { bridge, plain, lz4 } = await joined(from)
      const [sender, receiver] = sends === "plain" ? [plain, lz4] : [lz4, plain]
      const way = sends === "plain" ? "plain" : "wire"
      const batch = Array(20).fill(message(text, noise)).flat()
      const begin = streamsOf([hello])[way].length
      const messages = streamsOf([hello, ...batch])[way].subarray(begin)
      sender.socket.write(handshake("PUSH"))
      let sent = 0
      while (!sender.ended) {
        sent += 20
        if (sent === 2000) bridge.signal("SIGTERM")
        if (!sender.socket.write(messages))
          await new Promise((resolve) => sender.socket.once("drain", resolve))
        else await sleep(0)
      }
      sender.socket.end()
      await eventually(() => receiver.ended)
      receiver.socket.end()
      expect(await bridge.ended()).toEqual({ code: 0, signal: null })
      const { frames, restBytes } = parseStream(receiver.received)
      expect(restBytes).toBe(0)
      expect(messagesOf(frames)).toHaveLength(sent)
    },
  )

  test.each([
    ["in parts", streamsOf([...message(text, noise, text)]).plain],
    ["in one plain part", streamsOf(message(payload("lorem", 400))).plain],
    ["to be compressed", streamsOf(message(payload("lorem", 100_000))).plain],
  ])(
    "an incomplete message is passed on to its end before its receiver's connection is closed: %s",
    async (_, whole) => {
      const { bridge, plain, lz4 } = await joined("plain")
      // More bytes came in the other direction, so that side is closed first.
      const back = streamsOf([hello, ...message(text), ...message(text), ...message(text)])
      lz4.socket.write(back.wire)
      await received(plain, back.plain.length)
      const half = Math.floor(whole.length / 2)
      plain.socket.write(Buffer.concat([handshake("PULL"), whole.subarray(0, half)]))
      await received(lz4, handshake("PULL").length)
      bridge.signal("SIGTERM")
      await bridge.until(/^SIGTERM/)
      expect(lz4.ended).toBe(false)
      plain.socket.write(whole.subarray(half))
      await eventually(() => lz4.ended)
      const { frames, restBytes } = parseStream(lz4.received)
      expect({ messages: messagesOf(frames).length, restBytes }).toEqual({
        messages: 1,
        restBytes: 0,
      })
      lz4.socket.end()
      plain.socket.end()
      expect(await bridge.ended()).toEqual({ code: 0, signal: null })
    },
  )

  test("it does not wait long for peers that do not close", async () => {
    const server = await RawServer.start()
    const to = `lz4+tcp://127.0.0.1:${server.port}`
    const bridge = await RunningBridge.startImpatient(PLAIN, to)
    await rawZmtpClient(bridge.endpoint)
    await server.accept()
    bridge.signal("SIGTERM")
    expect(await bridge.ended()).toEqual({ code: 0, signal: null })
  })

  test("a second signal ends it at once", async () => {
    const { bridge } = await joined("plain")
    bridge.signal("SIGTERM")
    await bridge.until(/^SIGTERM/)
    bridge.signal("SIGINT")
    expect(await bridge.ended()).toEqual({ code: null, signal: "SIGINT" })
  })
})

test("zeromq.js is not loaded", () => {
  const code = readFileSync(main, "utf8")
  const imported = (text: string): string[] =>
    [...text.matchAll(/^(?:import|export|\}).*"([^"\n]+)";$|\bimport\("([^"\n]+)"\)/gm)].map(
      ([, first, dynamic]) => (first ?? dynamic) as string,
    )
  const seen = new Set<string>()
  const visit = (name: string, text: string) => {
    for (const next of imported(text)) {
      if (seen.has(next)) continue
      seen.add(next)
      if (!next.startsWith(".")) continue
      const path = join(name, "..", next)
      visit(path, readFileSync(path, "utf8"))
    }
  }
  visit(main, code)
  const packages = [...seen].filter((name) => !name.startsWith(".") && !name.startsWith("node:"))
  expect([...seen]).toContain("node:net")
  expect(packages).toEqual([])
})
