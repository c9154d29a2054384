/** What a stranger can send, by kind. */
import { once } from "node:events"
import { createServer } from "node:net"
import { curveKeyPair, Push } from "zeromq"
import { Codec } from "zeromq-lz4/codec"

const MIB = 2 ** 20
const MORE = 1
const LONG = 2
const COMMAND = 4

/** @param {Uint8Array | string} body @param {number} [flags] */
function frame(body, flags = 0) {
  const bytes = Buffer.from(body)
  if (bytes.length < 256) return Buffer.concat([Buffer.of(flags, bytes.length), bytes])
  const head = Buffer.alloc(9)
  head[0] = flags | LONG
  head.writeBigUInt64BE(BigInt(bytes.length), 1)
  return Buffer.concat([head, bytes])
}

/** @param {readonly (Uint8Array | string)[]} parts */
const message = (parts) =>
  Buffer.concat(parts.map((part, i) => frame(part, i < parts.length - 1 ? MORE : 0)))

/** @param {string} name @param {Uint8Array | string} [data] */
const command = (name, data = "") =>
  frame(Buffer.concat([Buffer.of(name.length), Buffer.from(name), Buffer.from(data)]), COMMAND)

/** @param {string} mechanism */
function greeting(mechanism) {
  const bytes = Buffer.alloc(64)
  bytes.set([0xff, 0, 0, 0, 0, 0, 0, 0, 1, 0x7f, 3, 1])
  bytes.write(mechanism, 12)
  return bytes
}

/** @param {string} name @param {string} value */
function property(name, value) {
  const size = Buffer.alloc(4)
  size.writeUInt32BE(value.length)
  return Buffer.concat([Buffer.of(name.length), Buffer.from(name), size, Buffer.from(value)])
}

/** @param {string} type @param {readonly Buffer[]} [more] */
const handshake = (type, more = []) =>
  Buffer.concat([
    greeting("NULL"),
    command("READY", Buffer.concat([property("Socket-Type", type), ...more])),
  ])

const PLAIN = Buffer.alloc(4)

/** @param {Buffer} frames @param {number} messages */
function arena(frames, messages) {
  const codec = Codec.createSync({ minCompressSize: 0 })
  const block = codec.encodePart(frames).slice(12)
  codec.close()
  const head = Buffer.from("LZ4A\x01\0\0\0\0\0\0\0\0\0\0\0", "latin1")
  head.writeUInt32LE(frames.length, 8)
  head.writeUInt32LE(messages, 12)
  return { block, wire: frame(Buffer.concat([head, block])) }
}

/** Returns the arena whose bytes just pay for its parts, all of which are empty (RFC.md section A.1), and their number. */
function fullArena() {
  for (let parts = 1024; ; parts++) {
    const next = arena(message(Array(parts + 1).fill("")), 1)
    if (parts + 1 <= 1024 + 16 * next.block.length) continue
    return { parts, wire: arena(message(Array(parts).fill("")), 1).wire }
  }
}

/** The key of a server with CURVE. */
export const serverKeys = curveKeyPair()

/** Returns the greeting and the HELLO of a client. Anybody who has seen them can send them again. */
async function hello() {
  const listener = createServer((socket) => socket.write(greeting("CURVE"))).listen(0, "127.0.0.1")
  await once(listener, "listening")
  const { port } = /** @type {import("node:net").AddressInfo} */ (listener.address())
  const { publicKey, secretKey } = curveKeyPair()
  const keys = { curvePublicKey: publicKey, curveSecretKey: secretKey }
  const client = new Push({ linger: 0, curveServerKey: serverKeys.publicKey, ...keys })
  client.connect(`tcp://127.0.0.1:${port}`)
  const [socket] = await once(listener, "connection")
  let bytes = Buffer.alloc(0)
  while (bytes.length < 64 + 202) bytes = Buffer.concat([bytes, (await once(socket, "data"))[0]])
  client.close()
  socket.destroy()
  listener.close()
  return bytes
}

/**
 * @typedef {object} Input
 * @property {string} name
 * @property {string} victim  type of the socket that is attacked
 * @property {boolean} [curve]  whether it has CURVE
 * @property {Buffer} opening  sent first on each connection
 * @property {Buffer} lz4  sent again and again on each connection to lz4+tcp://
 * @property {Buffer} [tcp]  the same to tcp://, if that has it
 * @property {number} connections
 * @property {number} times  how often it is sent on each connection
 * @property {{ connections: number, times: number }} [held]  the same for a victim that does not receive: as much as it reads
 * @property {number} [parts]  that a victim receives each time
 */

/** @returns {Promise<Input[]>} */
export async function inputs() {
  const push = { victim: "PULL", opening: handshake("PUSH") }
  const sub = { victim: "XPUB", opening: handshake("SUB") }
  const full = fullArena()
  const codec = Codec.createSync()
  const zeros = message([codec.encodePart(Buffer.alloc(MIB))])
  codec.close()
  const curve = { victim: "PULL", curve: true, times: 0, connections: 400, lz4: PLAIN, tcp: PLAIN }
  const opening = await hello()
  const wrong = Buffer.from(opening)
  wrong[opening.length - 1] ^= 1
  const properties = Array.from({ length: 5000 }, (_, i) => property(`X-${i}`, ""))
  const topics = Array.from({ length: 20_000 }, (_, i) => i.toString(36))
  const nothing = { lz4: PLAIN, tcp: PLAIN, times: 0 }
  const empty = { lz4: message([PLAIN]), tcp: message([""]) }
  const many = { lz4: message(Array(1000).fill(PLAIN)), tcp: message(Array(1000).fill("")) }
  const manyTopics = Buffer.concat(topics.map((topic) => command("SUBSCRIBE", topic)))
  const changes = Buffer.concat(
    topics.map((topic) => Buffer.concat([command("SUBSCRIBE", topic), command("CANCEL", topic)])),
  )
  return [
    { name: "empty messages", ...push, ...empty, parts: 1, connections: 4, times: 30_000 },
    {
      name: "messages of 1,000 empty parts",
      ...push,
      ...many,
      parts: 1000,
      connections: 4,
      times: 100,
      held: { connections: 4, times: 64 },
    },
    {
      name: "arenas of empty parts, as many as are allowed",
      ...push,
      lz4: full.wire,
      parts: full.parts,
      connections: 10,
      times: 100,
      held: { connections: 10, times: 46 },
    },
    {
      name: "arenas of 256 empty messages",
      ...push,
      lz4: arena(Buffer.alloc(512), 256).wire,
      parts: 256,
      connections: 4,
      times: 500,
      held: { connections: 200, times: 4 },
    },
    {
      name: "zeros, compressed, 1 MiB a message",
      ...push,
      lz4: zeros,
      parts: 1,
      connections: 4,
      times: 40,
      held: { connections: 4, times: 32 },
    },
    {
      name: "dictionaries of 8 KiB, one a connection",
      ...push,
      lz4: message([Buffer.concat([Buffer.from("LZ4D"), Buffer.alloc(8192, "dictionary")])]),
      connections: 400,
      times: 1,
    },
    {
      name: "PING",
      ...push,
      lz4: command("PING", "\0\0"),
      tcp: command("PING", "\0\0"),
      connections: 4,
      times: 20_000,
    },
    { name: "SUBSCRIBE", ...sub, lz4: manyTopics, tcp: manyTopics, connections: 4, times: 1 },
    { name: "SUBSCRIBE and CANCEL", ...sub, lz4: changes, tcp: changes, connections: 4, times: 1 },
    { name: "connections that send nothing else", ...push, ...nothing, connections: 400 },
    {
      name: "READY with 5,000 properties",
      victim: "PULL",
      opening: handshake("PUSH", properties),
      ...nothing,
      connections: 100,
    },
    { name: "HELLO of CURVE", ...curve, opening },
    { name: "HELLO of CURVE that is wrong", ...curve, opening: wrong },
    {
      name: "messages that are refused",
      ...push,
      lz4: frame("LZ4X"),
      tcp: frame("", 0x80),
      connections: 400,
      times: 1,
    },
    {
      name: "garbage",
      victim: "PULL",
      opening: Buffer.from("GET / HTTP/1.1\r\n\r\n"),
      ...nothing,
      connections: 400,
    },
  ]
}
