/** CURVE's handshake (RFC 26) between two sessions, and what an attacker can send in it. */
import { describe, expect, test, vi } from "vitest"

import { Opener } from "../../../src/curve/opener.js"
import { newKeyPair } from "../../../src/curve/random.js"
import { Sealer } from "../../../src/curve/sealer.js"
import type { AuthStatus, HandshakeSettings } from "../../../src/zmtp/mechanism.js"
import { Session } from "../../../src/zmtp/session.js"
import { curve, curveSettings, pair } from "../../support/curve.js"
import { flipped } from "../../support/flipped.js"
import { lowOrderPoints } from "../../support/libsodium.js"
import { concat } from "../../support/wire.js"
import { COMMAND, frame, GREETING_BYTES, greeting, parseStream } from "../../support/zmtp.js"

const ascii = (text: string): Uint8Array => Buffer.from(text, "latin1")
const serverKeys = pair(1)
const clientKeys = pair(2)

const serverSettings = (rest?: Partial<HandshakeSettings>) =>
  curveSettings({ isServer: true, ...serverKeys }, rest)
const clientSettings = (rest?: Partial<HandshakeSettings>, keys = clientKeys) =>
  curveSettings({ ...keys, serverKey: serverKeys.publicKey }, rest)

/** A session with what it has sent and told. */
class Side {
  readonly told: string[] = []
  readonly session: Session
  sent: Uint8Array[] = []
  /** What is sent is changed first, if that is set. */
  change: (bytes: Uint8Array) => Uint8Array = (bytes) => bytes
  isOver = false

  constructor(settings: HandshakeSettings, answer: AuthStatus | "later" | undefined = undefined) {
    this.session = new Session(settings, {
      send: (bytes) => this.sent.push(bytes),
      onEvent: (event) => {
        if (event.type === "authenticate") {
          const { mechanism, values } = event.credentials
          this.told.push(`authenticate ${mechanism} ${values.map(hex)}`)
          if (answer !== "later") this.session.authenticated(answer)
        } else if (event.type === "failed") {
          this.isOver = true
          this.told.push(`failed ${event.reason}: ${event.error.message}`)
        } else if (event.type === "refused") {
          this.told.push(`refused ${event.status}`)
        } else this.told.push(`ready ${Buffer.from(event.peerRoutingId).toString("latin1")}`)
      },
      message: () => true,
      command: () => true,
    })
    this.session.start()
  }

  /** Takes what was sent since the last call. */
  take(): Uint8Array {
    const bytes = this.change(concat(...this.sent))
    this.sent = []
    return bytes
  }

  receive(bytes: Uint8Array): void {
    const { session } = this
    let at = session.isGreeted ? 0 : session.greet(bytes)
    while (!this.isOver && !session.isReady && at < bytes.length) at = session.receive(bytes, at)
  }
}

const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString("hex")

/** Passes on what both send until neither does. */
function run(client: Side, server: Side): void {
  for (;;) {
    const fromClient = client.take()
    if (fromClient.length > 0 && !server.isOver) server.receive(fromClient)
    const fromServer = server.take()
    if (fromServer.length > 0 && !client.isOver) client.receive(fromServer)
    if (fromClient.length === 0 && fromServer.length === 0) return
  }
}

/** A handshake up to a command, which is not passed on. */
function upTo(name: "HELLO" | "WELCOME" | "INITIATE" | "READY", rest?: Partial<HandshakeSettings>) {
  const client = new Side(clientSettings(rest))
  const server = new Side(serverSettings(rest))
  server.receive(client.take())
  client.receive(server.take())
  const hello = client.take()
  if (name === "HELLO") return { client, server, command: hello }
  server.receive(hello)
  const welcome = server.take()
  if (name === "WELCOME") return { client, server, command: welcome, hello }
  client.receive(welcome)
  const initiate = client.take()
  if (name === "INITIATE") return { client, server, command: initiate, hello }
  server.receive(initiate)
  return { client, server, command: server.take(), hello, initiate }
}

const bodyOf = (command: Uint8Array): Uint8Array =>
  parseStream(concat(greeting(), command)).frames[0]?.body as Uint8Array
const asCommand = (body: Uint8Array): Uint8Array => frame(body, COMMAND)

/** Seals a frame on one side and opens it on the other. */
function exchange(from: Side, to: Side): void {
  const sending = from.session.secured
  const receiving = to.session.secured
  if (!sending || !receiving) throw new Error("no keys")
  const sealer = new Sealer(curve, {
    key: sending.key,
    ofServer: sending.isServer,
    counter: sending.sent,
  })
  const opener = new Opener(
    curve,
    { key: receiving.key, ofServer: !receiving.isServer, counter: receiving.received },
    1000,
  )
  const frames: Uint8Array[] = []
  opener.open(sealer.seal(frame(ascii("hello"))), (opened) => frames.push(opened.slice()))
  expect(concat(...frames)).toEqual(frame(ascii("hello")))
  sealer.close()
  opener.close()
}

test("both sides get ready and understand one another", () => {
  const client = new Side(clientSettings({ socketType: "DEALER", routingId: ascii("me") }))
  const server = new Side(serverSettings({ socketType: "ROUTER" }))
  run(client, server)
  expect(client.told).toEqual(["ready "])
  expect(server.told).toEqual([`authenticate CURVE ${hex(clientKeys.publicKey)}`, "ready me"])
  expect(client.session.agreed?.revision).toBe(2)
  expect(server.session.agreed?.revision).toBe(2)
  exchange(client, server)
  exchange(server, client)
})

test("the commands have the sizes of RFC 26, and the greeting says who is the server", () => {
  const client = new Side(clientSettings())
  const server = new Side(serverSettings())
  const greetings = [client.take(), server.take()]
  expect(greetings[0]).toEqual(greeting({ mechanism: "CURVE" }))
  const asServer = greeting({ mechanism: "CURVE" })
  asServer[32] = 1
  expect(greetings[1]).toEqual(asServer)

  const metadata = 1 + 11 + 4 + 4 + 1 + 14 + 4 + 1
  expect(bodyOf(upTo("HELLO").command)).toHaveLength(200)
  expect(bodyOf(upTo("WELCOME").command)).toHaveLength(168)
  expect(bodyOf(upTo("INITIATE").command)).toHaveLength(257 + metadata)
  expect(bodyOf(upTo("READY").command)).toHaveLength(30 + metadata)
  const hello = bodyOf(upTo("HELLO").command)
  expect(hex(hello.subarray(0, 80))).toBe(`${hex(ascii("\x05HELLO\x01\0"))}${"00".repeat(72)}`)
  expect(hex(hello.subarray(112, 120))).toBe("0000000000000001")
  expect(hex(bodyOf(upTo("INITIATE").command).subarray(105, 113))).toBe("0000000000000002")
  expect(hex(bodyOf(upTo("READY").command).subarray(6, 14))).toBe("0000000000000001")
})

test("every byte may come alone", () => {
  const client = new Side(clientSettings())
  const server = new Side(serverSettings())
  for (let round = 0; round < 4; round++) {
    for (const byte of client.take()) server.receive(Uint8Array.of(byte))
    for (const byte of server.take()) client.receive(Uint8Array.of(byte))
  }
  expect(client.told).toEqual(["ready "])
  exchange(server, client)
})

test("no two connections have a key, a nonce or a cookie in common", () => {
  const [a, b] = [upTo("READY"), upTo("READY")]
  for (const name of ["hello", "initiate", "command"] as const) {
    const [one, other] = [a[name], b[name]].map((bytes) => bodyOf(bytes as Uint8Array))
    const secret = name === "hello" ? 80 : 14
    for (let at = secret; at + 8 <= (one as Uint8Array).length; at += 8) {
      const piece = hex((one as Uint8Array).subarray(at, at + 8))
      if (/^0{12}/.test(piece)) continue // a counter
      expect(hex(other as Uint8Array)).not.toContain(piece)
    }
  }
})

// -- Authentication ----------------------------------------------------------------

test.each<[AuthStatus, boolean]>([
  [300, false],
  [400, true],
  [500, true],
])("ZAP refuses with %i, and the client learns of it: %s", (status, isTold) => {
  const client = new Side(clientSettings())
  const server = new Side(serverSettings(), status)
  run(client, server)
  expect(server.told.slice(1)).toEqual([`refused ${status}`])
  expect(server.session.secured).toBeUndefined()
  expect(client.told).toEqual(
    isTold
      ? [
          `refused ${status}`,
          `failed undefined: ERR_ZMTP_HANDSHAKE: the peer refused with "${status}"`,
        ]
      : [],
  )
})

test("ZAP may answer later; until then, the client has to wait", () => {
  const client = new Side(clientSettings())
  const server = new Side(serverSettings(), "later")
  run(client, server)
  expect(client.told).toEqual([])
  server.session.authenticated(200)
  run(client, server)
  expect(client.told).toEqual(["ready "])

  const hasty = new Side(serverSettings(), "later")
  run(new Side(clientSettings()), hasty)
  hasty.receive(asCommand(ascii("\x07MESSAGE")))
  expect(hasty.told[1]).toMatch(/^failed UNSPECIFIED: .* MESSAGE came too soon/)
})

// -- Attacks -----------------------------------------------------------------------

const PADDING = { from: 8, to: 80 }

describe.each(["HELLO", "WELCOME", "INITIATE", "READY"] as const)("%s", (name) => {
  const toServer = name === "HELLO" || name === "INITIATE"
  /** Returns what the receiver of a command tells if it gets another one in its place. */
  const told = (change: (body: Uint8Array) => Uint8Array): string[] => {
    const { client, server, command } = upTo(name)
    const receiver = toServer ? server : client
    receiver.told.length = 0
    receiver.receive(asCommand(change(bodyOf(command))))
    expect(receiver.session.secured).toBeUndefined()
    expect(receiver.session.isReady).toBe(false)
    // Nothing goes back to who sends such a thing.
    expect(receiver.take()).toHaveLength(0)
    return receiver.told
  }

  test("a bit changed in any byte", () => {
    const { length } = bodyOf(upTo(name).command)
    for (let at = 0; at < length; at++) {
      // As in libzmq, nobody looks at the padding.
      if (name === "HELLO" && at >= PADDING.from && at < PADDING.to) continue
      const events = told((body) => flipped(body, at, 1 << (at % 7)))
      expect(events).toHaveLength(1)
      expect(events[0]).toMatch(
        /^failed (CRYPTOGRAPHIC|UNEXPECTED_COMMAND|MALFORMED_COMMAND_\w+|INVALID_SEQUENCE): ERR_ZMTP_HANDSHAKE: [\x20-\x7e]+$/,
      )
    }
  })

  test("cut short anywhere, and with a byte more", () => {
    const { length } = bodyOf(upTo(name).command)
    for (let bytes = 0; bytes < length; bytes++)
      expect(told((body) => body.subarray(0, bytes))[0]).toMatch(/^failed [A-Z_]+: /)
    expect(told((body) => concat(body, Uint8Array.of(0)))[0]).toMatch(/^failed [A-Z_]+: /)
  })

  test("a box that another connection sealed is refused", () => {
    const other = bodyOf(upTo(name).command)
    if (name === "HELLO") {
      // Anybody may repeat a HELLO that he saw. He cannot go on from there.
      const server = new Side(serverSettings())
      server.receive(greeting({ mechanism: "CURVE" }))
      server.take()
      server.receive(asCommand(other))
      expect(bodyOf(server.take())).toHaveLength(168)
      server.receive(upTo("INITIATE").command)
      expect(server.told[0]).toMatch(/^failed CRYPTOGRAPHIC: .*cookie .* not from this connection/)
    } else expect(told(() => other)[0]).toMatch(/^failed CRYPTOGRAPHIC: /)
  })

  test("a command that comes twice is refused", () => {
    const { client, server, command } = upTo(name)
    const receiver = toServer ? server : client
    receiver.receive(command)
    if (receiver.session.isReady) return // what follows is no part of the handshake any more
    receiver.take()
    receiver.told.length = 0
    receiver.receive(command)
    expect(receiver.told).toHaveLength(1)
    expect(receiver.told[0]).toMatch(/^failed UNEXPECTED_COMMAND: /)
  })

  test("a command in a message frame is refused", () => {
    const { client, server, command } = upTo(name)
    const receiver = toServer ? server : client
    receiver.told.length = 0
    receiver.receive(frame(bodyOf(command)))
    expect(receiver.told).toEqual([
      "failed UNEXPECTED_COMMAND: ERR_ZMTP_HANDSHAKE: the command without a name was not expected",
    ])
  })

  test.each(["HELLO", "WELCOME", "INITIATE", "READY", "MESSAGE", "PING"])(
    "in its place: %s",
    (other) => {
      if (other === name) return
      const events = told(() =>
        concat(Uint8Array.of(other.length), ascii(other), new Uint8Array(200)),
      )
      // As in libzmq, a READY that comes before WELCOME does not open.
      const isEarly = name === "WELCOME" && other === "READY"
      const reason = isEarly ? "CRYPTOGRAPHIC" : "UNEXPECTED_COMMAND"
      expect(events[0]).toMatch(new RegExp(`^failed ${reason}: `))
    },
  )
})

test("a server of another key does not get past HELLO, and is not believed", () => {
  const client = new Side(curveSettings({ ...clientKeys, serverKey: pair(9).publicKey }))
  const server = new Side(serverSettings())
  run(client, server)
  expect(server.told).toEqual([
    "failed CRYPTOGRAPHIC: ERR_ZMTP_HANDSHAKE: a HELLO does not open: the peer may have another server's key",
  ])
  expect(client.told).toEqual([])
})

test("keys of low order are refused, whoever sends them", () => {
  for (const point of lowOrderPoints()) {
    const client = new Side(curveSettings({ ...clientKeys, serverKey: point }))
    client.receive(greeting({ mechanism: "CURVE" }))
    expect(client.told[0]).toMatch(/^failed CRYPTOGRAPHIC: .*of low order/)
    expect(concat(...client.sent)).toHaveLength(GREETING_BYTES)

    const { server, command } = upTo("HELLO")
    const hello = bodyOf(command).slice()
    hello.set(point, 80)
    server.receive(asCommand(hello))
    expect(server.told[0]).toMatch(/^failed CRYPTOGRAPHIC: /)

    // The server's short-term key, from a server that has the right long-term key.
    const peer = upTo("HELLO")
    const key = curve.sharedKey(bodyOf(peer.command).subarray(80, 112), serverKeys.secretKey)
    const box = curve.box(
      key as Uint8Array,
      concat(ascii("WELCOME-"), new Uint8Array(16)),
      concat(point, new Uint8Array(96)),
    )
    peer.client.receive(asCommand(concat(ascii("\x07WELCOME"), new Uint8Array(16), box)))
    expect(peer.client.told[0]).toMatch(/^failed CRYPTOGRAPHIC: .*short-term key is of low order/)
  }
})

/** A client written by hand, which can vouch for whatever it likes. */
function initiateBy(
  parts: Partial<Record<"longTerm" | "vouchedClient" | "vouchedServer" | "cookie", Uint8Array>> & {
    secretKey?: Uint8Array
    counter?: bigint
  },
  server = new Side(serverSettings()),
) {
  server.receive(greeting({ mechanism: "CURVE" }))
  server.take()
  const mine = newKeyPair(curve)
  const serverKey = curve.sharedKey(serverKeys.publicKey, mine.secretKey) as Uint8Array
  const counter = (value: bigint) => {
    const bytes = new Uint8Array(8)
    new DataView(bytes.buffer).setBigUint64(0, value)
    return bytes
  }
  const nonce = (prefix: string, rest: Uint8Array) => concat(ascii(prefix), rest)
  const first = counter(5n)
  const signature = curve.box(serverKey, nonce("CurveZMQHELLO---", first), new Uint8Array(64))
  const hello = concat(ascii("\x05HELLO\x01\0"), new Uint8Array(72), mine.publicKey, first)
  server.receive(asCommand(concat(hello, signature)))
  const welcome = bodyOf(server.take())
  const plain = curve.open(
    serverKey,
    nonce("WELCOME-", welcome.subarray(8, 24)),
    welcome.subarray(24),
  ) as Uint8Array
  const theirs = plain.subarray(0, 32)
  const vouchKey = curve.sharedKey(theirs, parts.secretKey ?? clientKeys.secretKey) as Uint8Array
  const vouch = curve.box(
    vouchKey,
    nonce("VOUCH---", new Uint8Array(16)),
    concat(parts.vouchedClient ?? mine.publicKey, parts.vouchedServer ?? serverKeys.publicKey),
  )
  const key = curve.sharedKey(theirs, mine.secretKey) as Uint8Array
  const used = counter(parts.counter ?? 6n)
  const box = curve.box(
    key,
    nonce("CurveZMQINITIATE", used),
    concat(parts.longTerm ?? clientKeys.publicKey, new Uint8Array(16), vouch),
  )
  const cookie = parts.cookie ?? plain.subarray(32)
  server.receive(asCommand(concat(ascii("\x08INITIATE"), cookie, used, box)))
  return server.told
}

test("a vouch has to be its sender's own, for this connection and this server", () => {
  expect(initiateBy({})).toEqual([`authenticate CURVE ${hex(clientKeys.publicKey)}`, "ready "])
  // Somebody's public key alone proves nothing.
  expect(initiateBy({ secretKey: pair(3).secretKey })[0]).toMatch(
    /^failed CRYPTOGRAPHIC: .*not from the owner of its key/,
  )
  expect(initiateBy({ longTerm: pair(3).publicKey })[0]).toMatch(/^failed CRYPTOGRAPHIC: /)
  for (const point of lowOrderPoints())
    expect(initiateBy({ longTerm: point })[0]).toMatch(/^failed CRYPTOGRAPHIC: /)
  // A vouch that was made for another connection, or for another server that passes it on.
  for (const vouched of ["vouchedClient", "vouchedServer"])
    expect(initiateBy({ [vouched]: pair(3).publicKey })[0]).toMatch(
      /^failed KEY_EXCHANGE: .*made for another connection/,
    )
})

test("a client that has the cookie of another connection does not get in with it", () => {
  const { command } = upTo("INITIATE")
  const cookie = bodyOf(command).subarray(9, 105)
  expect(initiateBy({ cookie })[0]).toMatch(
    /^failed CRYPTOGRAPHIC: .*the cookie of an INITIATE is not from this connection/,
  )
})

test("INITIATE's counter may be any, as for libzmq", () => {
  for (const counter of [0n, 1n, 4n, 5n, 255n]) expect(initiateBy({ counter })[1]).toBe("ready ")
})

test("after the counter 2^64 - 1, a client can send nothing more", () => {
  const last = 2n ** 64n - 1n
  const server = new Side(serverSettings())
  expect(initiateBy({ counter: last }, server)[1]).toBe("ready ")
  const { key, received } = server.session.secured ?? expect.fail("no keys")
  const opener = new Opener(curve, { key, ofServer: false, counter: received }, 1000)
  for (const counter of [new Uint8Array(8), received.map(() => 255)]) {
    // Whatever its counter is: it counts on from 0 here, and cannot count on at all.
    const sealer = new Sealer(curve, { key, ofServer: false, counter })
    const seal = () => opener.open(sealer.seal(frame(ascii("more"))), () => {})
    expect(seal).toThrow(/came twice, or out of order|has sent all messages/)
    sealer.close()
  }
  opener.close()
})

test("metadata that does not fit is refused, whatever a handler says", () => {
  const client = new Side(clientSettings({ socketType: "PUSH" }))
  const server = new Side(serverSettings({ socketType: "PUB" }))
  run(client, server)
  expect(server.told[0]).toMatch(/^authenticate CURVE /)
  expect(server.told[1]).toMatch(/^failed undefined: .*"PUSH", which does not go with PUB/)
  expect(server.session.secured).toBeUndefined()
})

test("a peer with another mechanism, or in the same role", () => {
  for (const mechanism of ["NULL", "PLAIN"]) {
    const server = new Side(serverSettings())
    server.receive(greeting({ mechanism }))
    expect(server.told).toEqual([
      `failed MECHANISM_MISMATCH: ERR_ZMTP_GREETING: the greeting asks for ${mechanism}; this side has CURVE`,
    ])
  }
  const server = new Side(serverSettings())
  server.receive(greeting({ mechanism: "GSSAPI" }))
  expect(server.told[0]).toMatch(
    /asks for the mechanism "GSSAPI"; NULL, PLAIN and CURVE are supported$/,
  )
  const [a, b] = [new Side(clientSettings()), new Side(clientSettings())]
  run(a, b)
  for (const { told } of [a, b]) expect(told[0]).toMatch(/^failed UNEXPECTED_COMMAND: .* HELLO /)
  const [c, d] = [new Side(serverSettings()), new Side(serverSettings())]
  run(c, d)
  for (const { told } of [c, d]) expect(told).toEqual([])
})

test("the bit of HELLO's key that X25519 ignores is found by the vouch", () => {
  const client = new Side(clientSettings())
  const server = new Side(serverSettings())
  client.change = (bytes) => (bytes.length === 202 ? flipped(bytes, 2 + 111, 0x80) : bytes)
  run(client, server)
  expect(server.told[0]).toMatch(/^failed KEY_EXCHANGE: /)
  expect(client.told).toEqual([])
})

// -- Secrets -----------------------------------------------------------------------

test("a HELLO leaves no key behind but the cookie's, and the end of the session not even that", () => {
  const { server } = upTo("WELCOME")
  server.session.close()
  server.receive(upTo("INITIATE").command)
  expect(server.told).toEqual([])
})

test("the keys of a connection are wiped when its handshake is over", () => {
  const secrets: Uint8Array[] = []
  const { publicKey, sharedKey } = curve
  const own = vi.spyOn(curve, "publicKey").mockImplementation((secretKey) => {
    secrets.push(secretKey)
    return publicKey.call(curve, secretKey)
  })
  const shared = vi.spyOn(curve, "sharedKey").mockImplementation((...keys) => {
    const key = sharedKey.apply(curve, keys)
    if (key) secrets.push(key)
    return key
  })
  const isWiped = (secret: Uint8Array) => secret.every((byte) => byte === 0)
  try {
    for (const name of ["WELCOME", "INITIATE", "READY"] as const) {
      const { client, server, command } = upTo(name)
      if (name === "READY") client.receive(command)
      else for (const side of [client, server]) side.session.close()
      const kept = [client, server].map(({ session }) => session.secured?.key)
      for (const secret of secrets.splice(0)) expect(isWiped(secret)).toBe(!kept.includes(secret))
      expect(kept.filter(Boolean)).toHaveLength(name === "READY" ? 2 : 0)
    }
    // Nor does one during whose last step, the answer of ZAP, the next frame began.
    const client = new Side(clientSettings())
    const server = new Side(serverSettings(), "later")
    run(client, server)
    server.receive(Uint8Array.of(0))
    server.session.authenticated(200)
    expect(server.told[1]).toMatch(/^failed UNEXPECTED_COMMAND: .*a frame began before/)
    for (const side of [client, server]) side.session.close()
    expect(secrets.splice(0).every(isWiped)).toBe(true)
    // Nor does a handshake leave any that fails.
    for (const name of ["HELLO", "WELCOME", "INITIATE"] as const) {
      const { client, server, command } = upTo(name)
      const receiver = name === "WELCOME" ? client : server
      receiver.receive(asCommand(flipped(bodyOf(command), 150)))
      expect(receiver.isOver).toBe(true)
      const other = receiver === server ? client : server
      other.session.close()
      expect(secrets.splice(0).every(isWiped)).toBe(true)
    }
  } finally {
    own.mockRestore()
    shared.mockRestore()
  }
})

test("100,000 HELLOs leave nothing behind", () => {
  const { bytes } = curve.instance
  const { command } = upTo("HELLO")
  const server = new Side(serverSettings())
  server.receive(greeting({ mechanism: "CURVE" }))
  server.receive(command)
  server.take()
  // Only the first costs anything; the second ends the connection.
  for (let i = 0; i < 100_000; i++) server.receive(command)
  expect(server.told).toHaveLength(1)
  expect(server.take()).toHaveLength(0)
  for (let i = 0; i < 300; i++) {
    const { server: flooded } = upTo("WELCOME")
    flooded.session.close()
  }
  expect(curve.instance.bytes.length).toBe(bytes.length)
})
