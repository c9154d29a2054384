/** CURVE in the bridge, as bytes, and its options. */
import { afterEach, describe, expect, test } from "vitest"

import { CurveEnd, expected } from "../../../src/bridge/curve-end.js"
import { WholeFrames } from "../../../src/bridge/whole-frames.js"
import { readArgs } from "../../../src/cli/bridge.js"
import { formatKey } from "../../../src/curve/keys.js"
import { curveModule } from "../../../src/curve/module.js"
import { notLibzmq } from "../../../src/zmtp/greeting.js"
import { runCommand } from "../../support/command.js"
import { pair } from "../../support/curve.js"
import { directoryOfTests } from "../../support/directory-of-tests.js"
import { RawServer, rawClient } from "../../support/raw-ends.js"
import { RunningBridge } from "../../support/running-bridge.js"
import { eventually } from "../../support/sockets.js"
import { concat } from "../../support/wire.js"
import { frame, greeting, message, ready } from "../../support/zmtp.js"

const { directory, file } = directoryOfTests()

const server = pair(1)
const client = pair(2)
const module = curveModule()
const none = new Uint8Array(0)
const CLIENT = { module, isServer: false, ...client, serverKey: server.publicKey }
const SERVER = { module, isServer: true, ...server, serverKey: none }

/** An end, and what it has sent to its peer and passed on to the other side. */
class Tried {
  readonly end: CurveEnd
  readonly sent: Uint8Array[] = []
  readonly opened: Uint8Array[] = []

  constructor(settings: typeof CLIENT, budgetBytes = -1, greeting = expected()) {
    this.end = new CurveEnd(settings, budgetBytes, greeting, (bytes) => this.sent.push(bytes))
  }

  seal(bytes: Uint8Array, size = bytes.length): void {
    for (let at = 0; at < bytes.length; at += size) this.end.seal(bytes.subarray(at, at + size))
  }

  /** Returns what it has sent since the last call. */
  take(): Uint8Array {
    return concat(...this.sent.splice(0))
  }

  /** Takes what another one has sent, in chunks. */
  from(other: Tried, size = 1 << 20): void {
    const bytes = other.take()
    for (let at = 0; at < bytes.length; at += size)
      this.opened.push(this.end.open(bytes.subarray(at, at + size)))
  }
}

const bytes = (content: string) => Buffer.from(content, "latin1")
const text = (...parts: string[]) => message(...parts.map(bytes))
/** Returns a command. Its name ends before the first small letter, or control character. */
const command = (content: string) => {
  const [name = ""] = /^[A-Z]+/.exec(content) ?? []
  return frame(concat(Uint8Array.of(name.length), bytes(content)), 4)
}

const PUSH = concat(...[greeting(), ready("PUSH")])
const PULL = concat(...[greeting(), ready("PULL")])

/** Goes through a handshake between the ends of two bridges, chunk by chunk. */
function secured(size?: number, budgetBytes?: number): [client: Tried, server: Tried] {
  const [a, b] = [new Tried(CLIENT), new Tried(SERVER, budgetBytes)]
  a.seal(PUSH, size) // greeting and HELLO
  b.seal(PULL, size)
  for (let i = 0; i < 2; i++) {
    b.from(a, size)
    a.from(b, size)
  }
  expect([a.end.isSecured, b.end.isSecured]).toEqual([true, true])
  return [a, b]
}

describe("an end of a bridge with CURVE", () => {
  test.each([1, 2, 7, 64, 100, 1 << 20])("passes everything on, in chunks of %d", (size) => {
    const [a, b] = secured(size)
    const frames = concat(
      ...[
        ...[text("one", "", "x".repeat(300)), command("PING\0\0")],
        ...[text("y".repeat(70_000)), text("", "end")],
      ],
    )
    a.seal(frames, size)
    b.seal(frames, size)
    b.from(a, size)
    a.from(b, size)
    expect(Buffer.compare(concat(...b.opened), concat(...[PUSH, frames]))).toBe(0)
    expect(Buffer.compare(concat(...a.opened), concat(...[PULL, frames]))).toBe(0)
    for (const { end } of [a, b]) end.close()
  })

  test("passes on the versions of the peers, and says who is the server", () => {
    const [a, b] = [new Tried(CLIENT), new Tried(SERVER)]
    const old = greeting()
    old[11] = 0
    a.seal(old)
    const [sent] = a.sent
    expect(sent?.[11]).toBe(0)
    expect(String(Buffer.from(sent?.subarray(12, 32) as Uint8Array))).toBe(
      `CURVE${"\0".repeat(15)}`,
    )
    expect(sent?.[32]).toBe(0)
    b.from(a)
    expect(b.opened).toEqual([Buffer.from(old)])
    b.seal(greeting())
    expect(b.sent[0]?.[32]).toBe(1)
  })

  test.each([0, 13, 63])(
    "answers a client that does not wait behind its own greeting, of which %d bytes are sent",
    (bytes) => {
      const [a, b] = [new Tried(CLIENT), new Tried(SERVER)]
      a.seal(PUSH)
      b.seal(PULL.subarray(0, bytes))
      b.from(a)
      expect(concat(...b.sent)).toHaveLength(bytes)
      b.seal(PULL.subarray(bytes))
      for (let i = 0; i < 2; i++) {
        a.from(b)
        b.from(a)
      }
      a.from(b)
      expect([a.end.isSecured, b.end.isSecured]).toEqual([true, true])
      expect(Buffer.compare(concat(...a.opened), PULL)).toBe(0)
      for (const { end } of [a, b]) end.close()
    },
  )

  test.each([1, 64, 1 << 20])(
    "does a client's handshake before there is another side, in chunks of %d",
    (size) => {
      const [a, b] = [new Tried(CLIENT), new Tried(SERVER)]
      b.end.greet()
      a.seal(PUSH)
      for (let i = 0; i < 2; i++) {
        b.from(a, size)
        a.from(b, size)
      }
      expect(Buffer.compare(concat(...b.opened), PUSH)).toBe(0)
      expect([a.end.isSecured, b.end.isSecured]).toEqual([false, false])
      const answer = concat(PULL, text("first"))
      b.seal(answer, size)
      a.from(b, size)
      const greeted = concat(notLibzmq(greeting(), 0), answer.subarray(64))
      expect(Buffer.compare(concat(...a.opened), greeted)).toBe(0)
      expect([a.end.isSecured, b.end.isSecured]).toEqual([true, true])
      for (const { end } of [a, b]) end.close()
    },
  )

  test("a client that was told another version than the other side's has to connect again", () => {
    const expectation = expected()
    const old = greeting({ minor: 0 })
    const first = new Tried(SERVER, -1, expectation)
    first.end.greet()
    first.seal(old.subarray(0, 63))
    expect(() => first.seal(old.subarray(63))).toThrow(
      "this side speaks ZMTP 3.0; the client was told 3.1, and has to connect again",
    )
    const again = new Tried(SERVER, -1, expectation)
    again.end.greet()
    expect(Buffer.from(again.take()).subarray(10, 18).toString()).toBe("\x03\0CURVE\0")
    again.seal(old)
    expect(again.take()).toHaveLength(0)
    for (const { end } of [first, again]) end.close()
  })

  test("lets no message out before the handshake is over", () => {
    const [a] = [new Tried(CLIENT)]
    a.seal(PUSH)
    expect(() => a.seal(text("too soon"))).toThrow(
      "ERR_ZMTP_HANDSHAKE: a message came before the handshake was over",
    )
  })

  test.each([
    ["ERROR", command("ERROR\x03400"), 'the peer refused with "400"'],
    ["SUBSCRIBE", command("SUBSCRIBEa"), "the command SUBSCRIBE was not expected"],
  ])("does not take %s for READY", (_, command, says) => {
    const a = new Tried(CLIENT)
    a.seal(greeting())
    expect(() => a.seal(command)).toThrow(says)
  })

  test("refuses a server that sends before it is asked", () => {
    const [a, b] = [new Tried(CLIENT), new Tried(SERVER)]
    b.seal(greeting())
    a.from(b)
    expect(() => a.end.open(command("READY"))).toThrow("a command came before this side's HELLO")
  })

  test("refuses a client that goes on before the answer", () => {
    const [a, b] = [new Tried(CLIENT), new Tried(SERVER)]
    a.seal(PUSH)
    b.seal(greeting())
    b.from(a)
    a.from(b)
    b.from(a)
    expect(String(Buffer.concat(b.opened))).toContain("READY")
    expect(() => b.end.open(command("MESSAGE"))).toThrow("came too soon")
  })

  test("refuses a client that has begun a frame before the answer", () => {
    const [a, b] = [new Tried(CLIENT), new Tried(SERVER)]
    a.seal(PUSH)
    b.seal(greeting())
    b.from(a)
    a.from(b)
    b.from(a)
    b.end.open(Uint8Array.of(4))
    b.seal(ready("PULL"))
    expect(() => b.end.open(Uint8Array.of(1))).toThrow(
      "a frame began before the handshake was over",
    )
  })

  test.each(["nothing", "the first bit", "a later bit"])(
    "what was changed on the way: %s",
    (what) => {
      const [a, b] = secured()
      a.seal(text("first"))
      b.from(a)
      a.seal(text("second"))
      const bytes = a.take()
      if (what !== "nothing") bytes[what === "the first bit" ? 0 : bytes.length - 1]! ^= 1
      const opened = b.end.open(bytes)
      if (what === "nothing") {
        expect(b.end.violation).toBeUndefined()
        expect(Buffer.from(opened)).toEqual(Buffer.from(text("second")))
      } else {
        expect(b.end.violation?.code).toBe("ERR_ZMTP_CURVE")
        expect(opened).toHaveLength(0)
      }
    },
  )

  test("refuses by its head what no message within the limit needs", () => {
    const [, b] = secured(undefined, 1000)
    const head = Uint8Array.of(2, 0, 0, 0, 0, 0, 0x20, 0, 0)
    b.end.open(concat(...[head, Buffer.from("\x07MESSAGE")]))
    expect(b.end.violation?.message).toContain("a MESSAGE is longer than maxMessageSize allows")
  })
})

test("frames are whole, however a stream is split", () => {
  const frames = [
    ...[frame(none), frame(Buffer.from("a"), 1), frame(Buffer.alloc(255, 1))],
    ...[frame(Buffer.alloc(256, 2)), frame(none), frame(Buffer.alloc(20_000, 3))],
  ]
  const stream = concat(...frames)
  const ends = new Set([0])
  for (const each of frames) ends.add([...ends].at(-1)! + each.length)
  for (const size of [1, 2, 3, 8, 9, 10, 255, 257, 1000, 30_000]) {
    const whole = new WholeFrames()
    const passed: Uint8Array[] = []
    let at = 0
    for (let from = 0; from < stream.length; from += size)
      whole.push(stream.subarray(from, from + size), (piece) => {
        passed.push(piece.slice())
        at += piece.length
        expect(ends.has(at)).toBe(true)
      })
    expect(Buffer.compare(concat(...passed), stream)).toBe(0)
  }
})

// libzmq often closes the connection before it has sent its own mechanism, so the peers are no libzmq.
describe("another mechanism ends the connection, and a line says why", () => {
  const FROM = ["--from-curve-server", "--from-secret-key"]
  const TO = ["--to-server-key", formatKey(server.publicKey)]
  const secretFile = () => file("server.secret", formatKey(server.secretKey))

  test.each<[says: string, from: string, to: string, by: "tcp" | "lz4\\+tcp", options: string[]]>([
    ['"NULL"; with CURVE on this side, the bridge needs CURVE', "NULL", "NULL", "tcp", FROM],
    ['"PLAIN"; with CURVE on this side, the bridge needs CURVE', "PLAIN", "NULL", "tcp", FROM],
    ['"PLAIN"; with CURVE on the other side, the bridge needs NULL', "PLAIN", "CURVE", "tcp", TO],
    ['"NULL"; with CURVE on this side, the bridge needs CURVE', "NULL", "NULL", "lz4\\+tcp", TO],
    ['the mechanism "CURVE".*; for CURVE, see --from-curve-server and', "CURVE", "NULL", "tcp", []],
  ])("%s: from %s to %s", async (says, from, to, by, options) => {
    const listening = await RawServer.start()
    const bridge = await RunningBridge.start(
      "tcp://127.0.0.1:0",
      `lz4+tcp://127.0.0.1:${listening.port}`,
      ...(options === FROM ? [...FROM, secretFile()] : options),
    )
    const client = await rawClient(bridge.endpoint)
    client.socket.write(greeting({ mechanism: from }))
    const asks = `protocol error by ${by}://.*the greeting asks for ${says}`
    // A client of CURVE is not one before it has shown its keys, so nothing is dialled for it.
    if (options === FROM) {
      await bridge.until(new RegExp(`^${asks}`))
      await eventually(() => client.ended)
      return
    }
    const dialled = await listening.accept()
    if (by !== "tcp") dialled.socket.write(greeting({ mechanism: to }))
    await bridge.until(new RegExp(`^#1 ${asks}`))
    for (const { socket } of [client, dialled]) socket.end()
    await bridge.until(/^#1 closed/)
  })
})

describe("options", () => {
  const ends = ["--from", "tcp://127.0.0.1:0", "--to", "lz4+tcp://127.0.0.1:1"]
  const secret = formatKey(client.secretKey)
  /** A key that begins as a variable does. */
  const likeVariable = `abc=${"0".repeat(36)}`
  const key = formatKey(server.publicKey)
  const secretFile = file("own.secret", `${secret}\n`)
  const FROM_SERVER = ["--from-curve-server", "--from-secret-key", secretFile]
  const variables = ["CURVE_SECRET_KEY", "CURVE_FROM_SECRET_KEY", "CURVE_TO_SECRET_KEY"]
  afterEach(() => {
    for (const variable of variables) delete process.env[variable]
  })

  test.each<[says: string, status: number, args: string[]]>([
    [
      "--from-curve-server and --from-server-key exclude each other",
      2,
      ["--from-curve-server", "--from-server-key", key],
    ],
    [
      "--to-curve-server needs a secret key: --to-secret-key FILE, or CURVE_TO_SECRET_KEY or CURVE_SECRET_KEY",
      2,
      ["--to-curve-server"],
    ],
    [
      "--to-secret-key is for --to-curve-server or --to-server-key KEY",
      2,
      ["--to-secret-key", secretFile],
    ],
    ...[
      `'${secret}'`,
      `${secret} `,
      `CURVE_SECRET_KEY='${secret}'`,
      `export CURVE_SECRET_KEY=${secret}`,
      likeVariable,
    ].map((given): [string, number, string[]] => [
      "--from-secret-key takes the name of a file",
      2,
      ["--from-curve-server", "--from-secret-key", given],
    ]),
    [
      "--from-secret-key takes the name of a file",
      2,
      ["--from-curve-server", "--from-secret-key", secret],
    ],
    ["--from-secret-key has no FILE", 2, ["--from-curve-server", "--from-secret-key", ""]],
    ["--from-client-keys has no FILE", 2, [...FROM_SERVER, "--from-client-keys", ""]],
    ["there is a key without an option", 2, ["--from-curve-server", secret]],
    [
      "cannot be CURVE's client on both sides",
      2,
      ["--from-server-key", key, "--to-server-key", key],
    ],
    [
      'neither a key, which has 40 characters, nor a file: "missing"',
      2,
      ["--to-server-key", "missing"],
    ],
    ["missing: no such file", 1, ["--from-curve-server", "--from-secret-key", "missing"]],
    ["is a directory", 1, ["--from-curve-server", "--from-secret-key", directory]],
    [
      "5 characters; a key has 40",
      1,
      ["--from-curve-server", "--from-secret-key", file("short", "short")],
    ],
    [
      "character 3 is none of its digits",
      1,
      ["--to-server-key", file("no-z85", `ab"${"0".repeat(37)}`)],
    ],
    [
      "--to-client-keys is for --to-curve-server: a client has one server",
      2,
      ["--to-server-key", key, "--to-client-keys", file("clients", key)],
    ],
    [
      "no-clients: there is no key in it",
      1,
      [...FROM_SERVER, "--from-client-keys", file("no-clients", "# none\n\n")],
    ],
    [
      "half-a-key, line 2: 20 characters; a key has 40",
      1,
      [...FROM_SERVER, "--from-client-keys", file("half-a-key", `${key}\n${key.slice(20)}\n`)],
    ],
    ["none: no such file", 1, [...FROM_SERVER, "--from-client-keys", "none"]],
    [
      "the file is too large",
      1,
      [...FROM_SERVER, "--from-client-keys", file("too-large", `${key}\n`.repeat(26_000))],
    ],
    ["of low order, so it protects nothing", 1, ["--to-server-key", "0".repeat(40)]],
  ])("%s", async (says, code, args) => {
    const { status, stdout, stderr } = await runCommand(directory, ["bridge", ...ends, ...args])
    expect({ status, stdout }).toEqual({ status: code, stdout: "" })
    expect(stderr).toContain(says)
    expect(stderr).not.toContain(secret)
    expect(stderr).not.toContain(likeVariable)
  })

  test.each([
    ["with the mark of Windows' editors", `\ufeff${key}\n`],
    ["with lines that end as on Windows", `${key}\r\n# a comment\r\n`],
    ["with lines that end as on old Macs", `# a comment\r${key} a service\r`],
  ])("a list of clients %s", async (name, text) => {
    const list = file(name.replaceAll(/\W/g, "-"), text)
    const { spec } = await readArgs([...ends, ...FROM_SERVER, "--from-client-keys", list])
    expect(spec.fromCurve?.clientKeys).toEqual(new Set([key]))
  })

  // A host that does not exist ends the bridge after its keys were read.
  const invalid = ["--from", "tcp://no.such.invalid:0", "--to", "lz4+tcp://127.0.0.1:1"]
  const readsKeys = async (...args: string[]) => {
    const { stderr } = await runCommand(directory, ["bridge", ...invalid, ...args])
    expect(stderr).toContain("cannot listen on tcp://no.such.invalid:0")
  }

  test.each(variables.slice(0, 2))("%s has the secret key", async (variable) => {
    process.env[variable] = secret
    await readsKeys("--from-curve-server")
    process.env[variable] = `'${secret}'`
    await readsKeys("--from-curve-server")
    process.env[variable] = "no key"
    const { stderr } = await runCommand(directory, ["bridge", ...ends, "--from-curve-server"])
    expect(stderr).toBe(
      `zeromq-lz4: ${variable}: 6 characters; a key has 40 (Z85), as zeromq-lz4 keygen makes it\n`,
    )
  })

  test("a key may begin with a dash", async () => {
    await readsKeys(
      "--to-server-key",
      `-${"0".repeat(38)}1`,
      "--from-curve-server",
      "--from-secret-key",
      secretFile,
    )
    const { status, stderr } = await runCommand(directory, [
      "bridge",
      ...ends,
      "--to-server-key",
      "--json",
    ])
    expect({ status, stderr }).toEqual({
      status: 2,
      stderr: expect.stringContaining("--to-server-key"),
    })
  })

  test("what keygen prints and writes can be given", async () => {
    const printed = (await runCommand(directory, ["keygen"])).stdout
    await readsKeys("--from-curve-server", "--from-secret-key", file("keys.env", printed))
    await readsKeys("--to-server-key", file("keys.env", `export ${printed}`))
    await runCommand(directory, ["keygen", "-o", "made"])
    await readsKeys(
      "--from-curve-server",
      "--from-secret-key",
      "made.secret",
      "--to-server-key",
      "made.public",
    )
  })
})
