/** ZMTP sessions: greeting, handshake and what follows, as bytes and events (RFC.md section 3). */
import { describe, expect, test } from "vitest"

import { ProtocolError } from "../../../src/codec/errors.js"
import type { AuthStatus, HandshakeSettings } from "../../../src/zmtp/mechanism.js"
import { Session } from "../../../src/zmtp/session.js"
import type { SocketTypeName } from "../../../src/zmtp/socket-types.js"
import { concat } from "../../support/wire.js"
import {
  COMMAND,
  frame,
  frameHead,
  greeting,
  MORE,
  message,
  parseStream,
} from "../../support/zmtp.js"

const ascii = (text: string): Uint8Array => Buffer.from(text, "latin1")
const text = (bytes: Uint8Array): string => Buffer.from(bytes).toString("latin1")
const u32 = (value: number) => Uint8Array.of(value >>> 24, value >>> 16, value >>> 8, value)
const withLength = (value: string) => concat(Uint8Array.of(value.length), ascii(value))

const command = (name: string, ...data: Uint8Array[]): Uint8Array =>
  frame(concat(withLength(name), ...data), COMMAND)
const property = (name: string, value: string): Uint8Array =>
  concat(withLength(name), u32(value.length), ascii(value))
const type = (name: string): Uint8Array => property("Socket-Type", name)
const reads = (revision: string): Uint8Array => property("X-Lz4-Revision", revision)
const hello = (name: string, password: string): Uint8Array =>
  command("HELLO", withLength(name), withLength(password))
const error = (reason: string): Uint8Array => command("ERROR", withLength(reason))

interface Side extends Partial<Omit<HandshakeSettings, "username" | "password" | "routingId">> {
  username?: string
  password?: string
  routingId?: string
}

interface Exchange {
  what: string
  side: Side
  /** The bytes that the peer sends. */
  stream: readonly Uint8Array[]
  /** The bytes that this side sends after its greeting. */
  sends: readonly Uint8Array[]
  /** The events of the session. */
  tells: readonly (string | RegExp)[]
  /** ZAP's reply; "later" arrives after the peer has sent everything. */
  answer?: AuthStatus | "later" | "nobody"
}

interface Outcome {
  sent: Uint8Array
  told: string[]
  peerRevision: number | undefined
}

const words = (bytes: Uint8Array | readonly Uint8Array[]): string =>
  Array.isArray(bytes) ? bytes.map(text).join("|") : text(bytes as Uint8Array)

/** Passes chunks to a session until it ends, as a connection does. */
function run({ side, answer }: Pick<Exchange, "side" | "answer">, chunks: Uint8Array[]): Outcome {
  const sent: Uint8Array[] = []
  const told: string[] = []
  let over = false
  const { username = "", password = "", routingId = "", ...rest } = side
  const settings: HandshakeSettings = {
    socketType: "PULL",
    mechanism: "NULL",
    plainServer: false,
    authenticate: false,
    formats: ["lz4"],
    revision: 2,
    ...rest,
    username: ascii(username),
    password: ascii(password),
    routingId: ascii(routingId),
  }
  const session = new Session(settings, {
    send: (bytes) => sent.push(bytes),
    onEvent: (event) => {
      if (event.type === "authenticate") {
        const { mechanism, values } = event.credentials
        told.push(["authenticate", mechanism, ...values.map(words)].join(" "))
        if (answer !== "later") session.authenticated(answer === "nobody" ? undefined : answer)
      } else if (event.type === "failed") {
        over = true
        expectReadable(event.error.message)
        told.push(`failed ${event.reason}: ${event.error.message}`)
      } else if (event.type === "refused") told.push(`refused ${event.status}`)
      else told.push(`ready ${words(event.peerRoutingId)}`)
    },
    message: (parts) => told.push(`message ${words(parts as Buffer[])}`) > 0,
    command: (name, data) => told.push(`command ${name} ${words(data)}`) > 0,
  })
  session.start()
  try {
    for (const chunk of chunks) {
      if (over) break
      let used = session.isGreeted ? 0 : session.greet(chunk)
      while (!over && used < chunk.length) used = session.receive(chunk, used)
    }
    if (answer === "later") session.authenticated(200)
  } catch (error) {
    expect(error).toBeInstanceOf(ProtocolError)
    expectReadable((error as Error).message)
    told.push(`throws ${(error as Error).message}`)
  }
  return { sent: concat(...sent), told, peerRevision: session.agreed?.revision }
}

/** Expects that an error is short and only has printable characters. */
function expectReadable(message: string): void {
  expect(message).toMatch(/^[\x20-\x7e…]{1,400}$/u)
}

/** Splits bytes: all at once, byte by byte, and in two at every byte. */
function* cuts(stream: Uint8Array): Generator<Uint8Array[]> {
  yield [stream]
  yield Array.from(stream, (byte) => Uint8Array.of(byte))
  for (let at = 1; at < stream.length; at++) yield [stream.subarray(0, at), stream.subarray(at)]
}

function check({ side, answer, stream, sends, tells }: Exchange): void {
  const expected = concat(greeting({ mechanism: side.mechanism ?? "NULL" }), ...sends)
  for (const chunks of cuts(concat(...stream))) {
    const { sent, told } = run({ side, ...(answer !== undefined && { answer }) }, chunks)
    expect(told).toEqual(
      tells.map((one) => (one instanceof RegExp ? expect.stringMatching(one) : one)),
    )
    expect(text(sent)).toBe(text(expected))
  }
}

const readyOf = (socketType: string, ...properties: Uint8Array[]) =>
  command("READY", type(socketType), ...properties, reads("2"))
const [pullReady, pushReady] = [readyOf("PULL"), readyOf("PUSH")]

describe.each([0, 1])("NULL with a peer of ZMTP 3.%i", (minor) => {
  const hi = greeting({ minor })
  test.each<Exchange>([
    {
      what: "READY for READY, then messages and commands",
      side: {},
      stream: [
        hi,
        pushReady,
        message(ascii("a")),
        message(ascii("b"), ascii(""), ascii("c".repeat(300))),
        command("PING", Uint8Array.of(0, 7), ascii("context")),
        command("SUBSCRIBE"),
        message(ascii("last")),
      ],
      sends: [pullReady],
      tells: [
        "ready ",
        "message a",
        `message b||${"c".repeat(300)}`,
        "command PING \0\x07context",
        "command SUBSCRIBE ",
        "message last",
      ],
    },
    {
      what: "a routing id goes both ways",
      side: { socketType: "DEALER", routingId: "me" },
      stream: [hi, readyOf("ROUTER", property("Identity", "you"))],
      sends: [readyOf("DEALER", property("Identity", "me"))],
      tells: ["ready you"],
    },
    {
      what: "an empty routing id is told as well",
      side: { socketType: "REQ" },
      stream: [hi, readyOf("REP", property("Identity", ""))],
      sends: [readyOf("REQ", property("Identity", ""))],
      tells: ["ready "],
    },
    {
      what: "names of properties are compared without case, and unknown ones passed over",
      side: {},
      stream: [
        hi,
        command(
          "READY",
          property("X-Anything", "x".repeat(500)),
          property("sOCKET-tYPE", "PUSH"),
          property("IDENTITY", "i"),
        ),
      ],
      sends: [pullReady],
      tells: ["ready i"],
    },
    {
      what: "a peer that names no socket type is taken for a fitting one",
      side: {},
      stream: [hi, command("READY")],
      sends: [pullReady],
      tells: ["ready "],
    },
    {
      what: "a command without a name is passed over once messages flow",
      side: {},
      stream: [
        hi,
        pushReady,
        frame(new Uint8Array(0), COMMAND),
        frame(Uint8Array.of(9, 1), COMMAND),
        message(ascii("a")),
      ],
      sends: [pullReady],
      tells: ["ready ", "message a"],
    },
    {
      what: "commands between the parts of a message do not mix with them",
      side: {},
      stream: [hi, pushReady, frame(ascii("a"), MORE), command("PONG"), frame(ascii("b"))],
      sends: [pullReady],
      tells: ["ready ", "command PONG ", "message a|b"],
    },
    {
      what: "ZAP that lets in is waited for",
      side: { authenticate: true },
      answer: "later",
      stream: [hi, pushReady],
      sends: [pullReady],
      tells: ["authenticate NULL", "ready "],
    },
    {
      what: "ZAP that answers at once",
      side: { authenticate: true },
      answer: 200,
      stream: [hi, pushReady, message(ascii("a"))],
      sends: [pullReady],
      tells: ["authenticate NULL", "ready ", "message a"],
    },
    {
      what: "nobody to ask lets in",
      side: { authenticate: true },
      answer: "nobody",
      stream: [hi, pushReady],
      sends: [pullReady],
      tells: ["authenticate NULL", "ready "],
    },
    ...([400, 500] as const).map(
      (status): Exchange => ({
        what: `ZAP that says ${status} is told to the peer, whose READY may be on its way`,
        side: { authenticate: true },
        answer: status,
        stream: [hi, pushReady],
        sends: [error(String(status))],
        tells: ["authenticate NULL", `refused ${status}`],
      }),
    ),
    {
      what: "ZAP that says 300 is not told to the peer",
      side: { authenticate: true },
      answer: 300,
      stream: [hi],
      sends: [],
      tells: ["authenticate NULL", "refused 300"],
    },
    {
      what: "READY twice, before ZAP has answered",
      side: { authenticate: true },
      answer: "later",
      stream: [hi, pushReady, pushReady],
      sends: [],
      tells: ["authenticate NULL", /^failed UNEXPECTED_COMMAND: ERR_ZMTP_HANDSHAKE: .*READY/],
    },
    ...[frameHead(300).subarray(0, 5), message(ascii("cut")).subarray(0, 4)].map(
      (begun): Exchange => ({
        what: `a message of which ${begun.length} bytes come before ZAP has answered`,
        side: { authenticate: true },
        answer: "later",
        stream: [hi, pushReady, begun],
        sends: [pullReady],
        tells: ["authenticate NULL", /^failed UNEXPECTED_COMMAND: ERR_ZMTP_HANDSHAKE: a frame/],
      }),
    ),
    {
      what: "a socket type that does not fit",
      side: {},
      stream: [hi, readyOf("PUB")],
      sends: [pullReady],
      tells: [
        'failed undefined: ERR_ZMTP_HANDSHAKE: the peer is "PUB", which does not go with PULL',
      ],
    },
    {
      what: "a socket type of any bytes",
      side: {},
      stream: [hi, readyOf(`\x1b]0;title\x07${"\xff".repeat(300)}`)],
      sends: [pullReady],
      tells: [/^failed undefined: ERR_ZMTP_HANDSHAKE: the peer is ".x1b]0;title.x07/],
    },
    {
      what: "metadata that is cut",
      side: {},
      stream: [hi, frame(concat(withLength("READY"), type("PUSH").subarray(0, -1)), COMMAND)],
      sends: [pullReady],
      tells: [/^failed undefined: ERR_ZMTP_HANDSHAKE: metadata/],
    },
    {
      what: "a property that declares 4 GiB",
      side: {},
      stream: [hi, command("READY", withLength("X"), u32(2 ** 32 - 1))],
      sends: [pullReady],
      tells: [/^failed undefined: ERR_ZMTP_HANDSHAKE: metadata/],
    },
    {
      what: "another command in place of READY",
      side: {},
      stream: [hi, command("HELLO")],
      sends: [pullReady],
      tells: [/^failed UNEXPECTED_COMMAND: ERR_ZMTP_HANDSHAKE: the command HELLO/],
    },
    {
      what: "a command with an endless name in place of READY",
      side: {},
      stream: [hi, command("X".repeat(200))],
      sends: [pullReady],
      tells: [/^failed UNEXPECTED_COMMAND: ERR_ZMTP_HANDSHAKE: the command X{32} was/],
    },
    {
      what: "a message in place of READY",
      side: {},
      stream: [hi, message(ascii("READY"))],
      sends: [pullReady],
      tells: [/^failed UNEXPECTED_COMMAND/],
    },
    {
      what: "an empty command in place of READY",
      side: {},
      stream: [hi, frame(new Uint8Array(0), COMMAND)],
      sends: [pullReady],
      tells: [/^failed UNEXPECTED_COMMAND/],
    },
    ...[300, 400, 500].map(
      (status): Exchange => ({
        what: `ERROR with ${status}`,
        side: {},
        stream: [hi, error(String(status))],
        sends: [pullReady],
        tells: [
          `refused ${status}`,
          `failed undefined: ERR_ZMTP_HANDSHAKE: the peer refused with "${status}"`,
        ],
      }),
    ),
    {
      what: "ERROR with words of its own",
      side: {},
      stream: [hi, error("go away\n")],
      sends: [pullReady],
      tells: ['failed undefined: ERR_ZMTP_HANDSHAKE: the peer refused with "go away\\x0a"'],
    },
    {
      what: "ERROR that is cut",
      side: {},
      stream: [hi, command("ERROR", Uint8Array.of(5), ascii("400"))],
      sends: [pullReady],
      tells: [/^failed MALFORMED_COMMAND_ERROR/],
    },
    {
      what: "PLAIN in the greeting",
      side: {},
      stream: [greeting({ minor, mechanism: "PLAIN" })],
      sends: [],
      tells: [/^failed MECHANISM_MISMATCH: ERR_ZMTP_GREETING: .*PLAIN.*NULL/],
    },
    {
      what: "CURVE in the greeting",
      side: {},
      stream: [greeting({ minor, mechanism: "CURVE" })],
      sends: [],
      tells: [/^failed MECHANISM_MISMATCH: ERR_ZMTP_GREETING: .*CURVE; this side has NULL/],
    },
    {
      what: "a mechanism of any bytes in the greeting",
      side: {},
      stream: [greeting({ minor, mechanism: '\x1b[2J\xff"NULL\\ and 20 bytes' })],
      sends: [],
      tells: [/^failed MECHANISM_MISMATCH: ERR_ZMTP_GREETING: /],
    },
  ])("$what", check)

  test("the version determines whether subscriptions are commands", () => {
    const session = new Session(
      {
        socketType: "SUB",
        mechanism: "NULL",
        plainServer: false,
        authenticate: false,
        formats: ["lz4"],
        revision: 2,
        username: ascii(""),
        password: ascii(""),
        routingId: ascii(""),
      },
      {
        send: () => {},
        onEvent: () => {},
        message: () => true,
        command: () => true,
      },
    )
    session.greet(hi)
    expect(session.peerTakesCommands).toBe(minor === 1)
  })
})

describe.each([0, 1])("PLAIN with a server of ZMTP 3.%i", (minor) => {
  const hi = greeting({ minor, mechanism: "PLAIN" })
  const side: Side = {
    socketType: "DEALER",
    mechanism: "PLAIN",
    username: "user",
    password: "secret",
    routingId: "me",
  }
  const mine = hello("user", "secret")
  const initiate = command("INITIATE", type("DEALER"), property("Identity", "me"), reads("2"))
  const theirs = readyOf("ROUTER", property("Identity", "you"))
  const welcome = command("WELCOME")
  test.each<Exchange>([
    {
      what: "HELLO, WELCOME, INITIATE, READY",
      side,
      stream: [hi, welcome, theirs, message(ascii("a"))],
      sends: [mine, initiate],
      tells: ["ready you", "message a"],
    },
    {
      what: "empty credentials",
      side: { ...side, username: "", password: "" },
      stream: [hi, welcome, theirs],
      sends: [hello("", ""), initiate],
      tells: ["ready you"],
    },
    {
      what: "the longest credentials",
      side: { ...side, username: "u".repeat(255), password: "p".repeat(255) },
      stream: [hi, welcome, theirs],
      sends: [hello("u".repeat(255), "p".repeat(255)), initiate],
      tells: ["ready you"],
    },
    {
      what: "ERROR in place of WELCOME",
      side,
      stream: [hi, error("400")],
      sends: [mine],
      tells: ["refused 400", /^failed undefined/],
    },
    {
      what: "ERROR in place of READY",
      side,
      stream: [hi, welcome, error("500")],
      sends: [mine, initiate],
      tells: ["refused 500", /^failed undefined/],
    },
    {
      what: "ERROR that is cut",
      side,
      stream: [hi, command("ERROR")],
      sends: [mine],
      tells: [/^failed MALFORMED_COMMAND_ERROR/],
    },
    {
      what: "WELCOME with data",
      side,
      stream: [hi, command("WELCOME", ascii("x"))],
      sends: [mine],
      tells: [/^failed MALFORMED_COMMAND_WELCOME/],
    },
    {
      what: "WELCOME twice",
      side,
      stream: [hi, welcome, welcome],
      sends: [mine, initiate],
      tells: [/^failed UNEXPECTED_COMMAND/],
    },
    {
      what: "READY without WELCOME",
      side,
      stream: [hi, theirs],
      sends: [mine],
      tells: [/^failed UNEXPECTED_COMMAND/],
    },
    {
      what: "HELLO, as of another client",
      side,
      stream: [hi, hello("a", "b")],
      sends: [mine],
      tells: [/^failed UNEXPECTED_COMMAND/],
    },
    {
      what: "metadata that is cut",
      side,
      stream: [hi, welcome, command("READY", type("ROUTER").subarray(0, -1))],
      sends: [mine, initiate],
      tells: [/^failed INVALID_METADATA/],
    },
    {
      what: "a socket type that does not fit",
      side,
      stream: [hi, welcome, readyOf("PUSH")],
      sends: [mine, initiate],
      tells: [/^failed INVALID_METADATA/],
    },
    {
      what: "NULL in the greeting",
      side,
      stream: [greeting({ minor })],
      sends: [],
      tells: [/^failed MECHANISM_MISMATCH/],
    },
  ])("$what", check)
})

describe.each([0, 1])("PLAIN with a client of ZMTP 3.%i", (minor) => {
  const hi = greeting({ minor, mechanism: "PLAIN" })
  const side: Side = { socketType: "ROUTER", mechanism: "PLAIN", plainServer: true }
  const initiate = command("INITIATE", type("DEALER"), property("Identity", "you"))
  const mine = readyOf("ROUTER", property("Identity", ""))
  const welcome = command("WELCOME")
  const asks = "authenticate PLAIN user secret"
  const theirs = hello("user", "secret")
  test.each<Exchange>([
    {
      what: "HELLO, WELCOME, INITIATE, READY",
      side,
      answer: 200,
      stream: [hi, theirs, initiate, message(ascii("a"))],
      sends: [welcome, mine],
      tells: [asks, "ready you", "message a"],
    },
    {
      what: "an answer of ZAP that is waited for",
      side,
      answer: "later",
      stream: [hi, theirs],
      sends: [welcome],
      tells: [asks],
    },
    {
      what: "empty credentials are for ZAP to judge",
      side,
      answer: 400,
      stream: [hi, hello("", "")],
      sends: [error("400")],
      tells: ["authenticate PLAIN  ", "refused 400"],
    },
    {
      what: "ZAP that says 300 is not told to the peer",
      side,
      answer: 300,
      stream: [hi, theirs],
      sends: [],
      tells: [asks, "refused 300"],
    },
    {
      what: "INITIATE without WELCOME",
      side,
      answer: "later",
      stream: [hi, theirs, initiate],
      sends: [],
      tells: [asks, /^failed UNSPECIFIED/],
    },
    {
      what: "another server, which waits as well",
      side,
      stream: [hi],
      sends: [],
      tells: [],
    },
    ...[
      ["that is empty", command("HELLO")],
      ["without a password", command("HELLO", withLength("user"))],
      ["whose name is cut", command("HELLO", Uint8Array.of(9), ascii("user"))],
      ["whose password is cut", command("HELLO", withLength("user"), Uint8Array.of(9), ascii("p"))],
      [
        "with bytes behind the password",
        command("HELLO", withLength("u"), withLength("p"), ascii("x")),
      ],
    ].map(
      ([what, stream]): Exchange => ({
        what: `HELLO ${what}`,
        side,
        answer: 200,
        stream: [hi, stream as Uint8Array],
        sends: [],
        tells: [/^failed MALFORMED_COMMAND_HELLO/],
      }),
    ),
    {
      what: "a command that is cut in place of HELLO",
      side,
      stream: [hi, frame(ascii("\x05HELL"), COMMAND)],
      sends: [],
      tells: [/^failed MALFORMED_COMMAND_UNSPECIFIED/],
    },
    {
      what: "READY in place of HELLO",
      side,
      stream: [hi, readyOf("DEALER")],
      sends: [],
      tells: [/^failed UNEXPECTED_COMMAND/],
    },
    {
      what: "a message in place of HELLO",
      side,
      stream: [hi, message(theirs.subarray(2))],
      sends: [],
      tells: [/^failed UNEXPECTED_COMMAND/],
    },
    {
      what: "READY in place of INITIATE",
      side,
      answer: 200,
      stream: [hi, theirs, readyOf("DEALER")],
      sends: [welcome],
      tells: [asks, /^failed UNEXPECTED_COMMAND/],
    },
    {
      what: "INITIATE of a socket type that does not fit",
      side,
      answer: 200,
      stream: [hi, theirs, command("INITIATE", type("PULL"))],
      sends: [welcome],
      tells: [asks, /^failed undefined: .*"PULL"/],
    },
    {
      what: "INITIATE with metadata that is cut",
      side,
      answer: 200,
      stream: [hi, theirs, command("INITIATE", ascii("\x20"))],
      sends: [welcome],
      tells: [asks, /^failed undefined: .*metadata/],
    },
  ])("$what", check)
})

describe("a greeting is refused as early as possible", () => {
  test.each<[what: string, bytes: Uint8Array, at: number, says: RegExp]>([
    ["a first byte that is not ff", Uint8Array.of(0, 1, 2), 1, /not a ZMTP signature/],
    ["HTTP", ascii("GET / HTTP/1.1\r\n"), 1, /./],
    [
      "a signature that ends otherwise",
      concat(Uint8Array.of(0xff), new Uint8Array(20)),
      10,
      /not a ZMTP signature/,
    ],
    ["ZMTP 1", greeting({ major: 0 }), 11, /ZMTP 1/],
    ["ZMTP 2", greeting({ major: 1 }), 11, /ZMTP 2/],
    ["ZMTP 2.1", greeting({ major: 2 }), 11, /ZMTP 2/],
  ])("%s", (_, bytes, at, says) => {
    const side = {}
    expect(run({ side }, [bytes]).told).toEqual([
      expect.stringMatching(/^throws ERR_ZMTP_GREETING/),
    ])
    const single = Array.from(bytes, (byte) => Uint8Array.of(byte))
    expect(run({ side }, single.slice(0, at - 1)).told).toEqual([])
    expect(run({ side }, single.slice(0, at)).told).toEqual([expect.stringMatching(says)])
  })

  test("a later version is treated as 3.1", () => {
    const { told } = run({ side: {} }, [greeting({ major: 4, minor: 0 }), pushReady])
    expect(told).toEqual(["ready "])
  })
})

describe("every pair of socket types", () => {
  const fitting =
    `PAIR-PAIR PUB-SUB PUB-XSUB XPUB-SUB XPUB-XSUB REQ-REP REQ-ROUTER REP-DEALER DEALER-DEALER
    DEALER-ROUTER ROUTER-ROUTER PUSH-PULL SERVER-CLIENT RADIO-DISH SCATTER-GATHER`.split(/\s+/)
  const names = [...new Set(fitting.flatMap((pair) => pair.split("-")))] as SocketTypeName[]
  test.each(names)("%s", (socketType) => {
    for (const peer of names) {
      const fits =
        fitting.includes(`${socketType}-${peer}`) || fitting.includes(`${peer}-${socketType}`)
      const { told } = run({ side: { socketType } }, [greeting(), readyOf(peer)])
      expect(told).toEqual([fits ? "ready " : expect.stringMatching(/^failed undefined/)])
    }
  })
})

describe("limits", () => {
  const hi = [greeting(), pushReady]
  const outcome = (...stream: Uint8Array[]) => run({ side: {} }, [concat(...stream)]).told

  test("a command of the handshake has at most 64 KiB, checked at its header", () => {
    expect(outcome(greeting(), frameHead(65_537, COMMAND))).toEqual([
      expect.stringMatching(/^throws ERR_ZMTP_COMMAND: .*65537.*65536/),
    ])
    expect(outcome(greeting(), frameHead(65_536, COMMAND))).toEqual([])
  })

  test("a command has at most 1 MiB, checked at its header", () => {
    expect(outcome(...hi, frameHead(2 ** 20 + 1, COMMAND))).toEqual([
      "ready ",
      expect.stringMatching(/^throws ERR_ZMTP_COMMAND: .*1048577.*1048576/),
    ])
    expect(outcome(...hi, frameHead(2 ** 20, COMMAND))).toEqual(["ready "])
  })
})

test("a handler that stops is not called any more, and the rest is passed again", () => {
  const stream = concat(
    message(ascii("a")),
    message(ascii("b"), ascii("c")),
    command("PING"),
    message(ascii("d")),
  )
  const told: string[] = []
  const session = new Session(
    {
      socketType: "PULL",
      mechanism: "NULL",
      plainServer: false,
      authenticate: false,
      formats: ["lz4"],
      revision: 2,
      username: ascii(""),
      password: ascii(""),
      routingId: ascii(""),
    },
    {
      send: () => {},
      onEvent: () => {},
      message: (parts) => {
        told.push(words(parts as Buffer[]))
        return false
      },
      command: (name) => {
        told.push(name)
        return false
      },
    },
  )
  session.greet(greeting())
  session.receive(pushReady)
  expect(session.isReady).toBe(true)
  const stops: string[][] = []
  for (let at = 0; at < stream.length; ) {
    at = session.receive(stream, at)
    stops.push(told.splice(0))
  }
  expect(stops).toEqual([["a"], ["b|c"], ["PING"], ["d"]])
})

describe("the revision that a peer announces (RFC.md section 3.9)", () => {
  const roles: [string, Side, ...Uint8Array[]][] = [
    ["READY, with NULL", { socketType: "PULL" }, greeting()],
    [
      "READY of a PLAIN server",
      { socketType: "PULL", mechanism: "PLAIN" },
      greeting({ mechanism: "PLAIN" }),
      command("WELCOME"),
    ],
    [
      "INITIATE of a PLAIN client",
      { socketType: "PULL", mechanism: "PLAIN", plainServer: true },
      greeting({ mechanism: "PLAIN" }),
      hello("user", "secret"),
    ],
  ]
  const announced = (role: (typeof roles)[number], ...properties: Uint8Array[]) => {
    const [, side, ...before] = role
    const name = side.plainServer ? "INITIATE" : "READY"
    const stream = concat(...before, command(name, type("PUSH"), ...properties))
    const { told, peerRevision } = run({ side, answer: 200 }, [stream])
    expect(told.at(-1)).toBe("ready ")
    return peerRevision
  }

  describe.each(roles)("in %s", (...role) => {
    test.each([
      ["none", [], undefined],
      ["1", [reads("1")], 1],
      ["2", [reads("2")], 2],
      ["a larger one", [reads("10")], 10],
      ["the largest", [reads("999999999")], 999_999_999],
      ["a name in another case", [property("x-LZ4-rEVISION", "2")], 2],
      ["behind others", [property("X-Other", "3"), reads("2")], 2],
      ["twice: the first counts", [reads("2"), reads("1")], 2],
      ["twice, in different cases", [property("x-lz4-revision", "1"), reads("2")], 1],
      ["twice, the first malformed", [reads("two"), reads("2")], undefined],
      ["another name", [property("X-Lz4-Revisions", "2")], undefined],
      ...["", "0", "02", "+2", "-2", " 2", "2 ", "2.0", "2\n", "0x2", "two", "\x02", "\xb2"].map(
        (value) => [`malformed: ${JSON.stringify(value)}`, [reads(value)], undefined] as const,
      ),
      ["too large a number", [reads("1000000000")], undefined],
      ["a number of 60,000 digits", [reads("2".repeat(60_000))], undefined],
    ] as [string, Uint8Array[], number | undefined][])("%s", (_, properties, expected) => {
      expect(announced(role, ...properties)).toBe(expected)
    })
  })

  test.each(roles)("this side also announces its own: %s", (_, side, ...before) => {
    for (const revision of [1, 2]) {
      const ready = command(side.plainServer ? "INITIATE" : "READY", type("PUSH"))
      const { sent } = run({ side: { ...side, revision }, answer: 200 }, [concat(...before, ready)])
      expect(text(sent)).toContain(text(reads(String(revision))))
    }
  })

  test("there is none before the handshake is complete", () => {
    const stream = concat(greeting(), readyOf("PUSH"))
    const side: Side = { authenticate: true }
    const { told, peerRevision } = run({ side, answer: 300 }, [stream])
    expect(told).toContain("refused 300")
    expect(peerRevision).toBeUndefined()
  })
})

test("this side sends a greeting of ZMTP 3.1 and a READY", () => {
  const { sent } = run({ side: { socketType: "XPUB" } }, [greeting()])
  const { greeting: mine, frames } = parseStream(sent)
  expect(mine).toEqual(greeting())
  expect(frames.map(({ flags, body }) => [flags, text(body)])).toEqual([
    [COMMAND, text(readyOf("XPUB").subarray(2))],
  ])
})
