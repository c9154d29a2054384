/** Writes a large capture quickly: connections of PUSH to PULL over IPv4, with JSON events. */
import { closeSync, openSync, writeSync } from "node:fs"
import { Codec } from "zeromq-lz4/codec"
import { logEvents } from "../../bench/payloads.mjs"

const CONNECTIONS = 8
const SEGMENT_BYTES = 1448
/** Different messages, which are repeated. */
const TEXTS = 2000
const RAW_IP = 101
const START_SECONDS = 1_700_000_000

const GREETING = Buffer.alloc(64)
GREETING[0] = 0xff
GREETING[9] = 0x7f
GREETING[10] = 3
GREETING[11] = 1
GREETING.write("NULL", 12)

/** @param {string} type */
function ready(type) {
  const property = Buffer.from(`\x0bSocket-Type\0\0\0${String.fromCharCode(type.length)}${type}`)
  const body = Buffer.concat([Buffer.from("\x05READY"), property])
  return Buffer.concat([Buffer.of(4, body.length), body])
}

/** @param {Uint8Array} body */
function frame(body) {
  const head = Buffer.alloc(body.length > 255 ? 9 : 2)
  if (body.length > 255) {
    head[0] = 2
    head.writeBigUInt64BE(BigInt(body.length), 1)
  } else head[1] = body.length
  return Buffer.concat([head, body])
}

/**
 * @param {string} file
 * @param {number} bytes its approximate size
 * @param {number} messageBytes the approximate plaintext of a message
 */
export function writeLargeCapture(file, bytes, messageBytes) {
  const codec = Codec.createSync()
  const events = logEvents(1)
  const frames = Array.from({ length: TEXTS }, () => {
    let text = ""
    while (text.length < messageBytes) text += events.next().value
    return frame(codec.encodePart(Buffer.from(text.slice(0, messageBytes))))
  })
  codec.close()
  const output = new Output(file)
  const connections = Array.from({ length: CONNECTIONS }, (_, i) => new Connection(output, i))
  for (const connection of connections) connection.begin()
  let messages = 0
  for (; output.bytes < bytes; messages++)
    connections[messages % CONNECTIONS]?.send(
      0,
      /** @type {Buffer} */ (frames[(messages * 7) % TEXTS]),
    )
  output.close()
  return { bytes: output.bytes, messages }
}

class Connection {
  #output
  #number
  #sequences = [1000, 2000]

  /** @param {Output} output @param {number} number */
  constructor(output, number) {
    this.#output = output
    this.#number = number
  }

  begin() {
    this.#packet(0, 0x02, Buffer.alloc(0))
    this.#packet(1, 0x12, Buffer.alloc(0))
    this.send(0, Buffer.concat([GREETING, ready("PUSH")]))
    this.send(1, Buffer.concat([GREETING, ready("PULL")]))
  }

  /** @param {0 | 1} from @param {Buffer} data */
  send(from, data) {
    for (let at = 0; at < data.length; at += SEGMENT_BYTES)
      this.#packet(from, 0x10, data.subarray(at, at + SEGMENT_BYTES))
  }

  /** @param {0 | 1} from @param {number} flags @param {Buffer} data */
  #packet(from, flags, data) {
    const packet = Buffer.alloc(40 + data.length)
    packet[0] = 0x45
    packet.writeUInt16BE(packet.length, 2)
    packet[8] = 64
    packet[9] = 6
    const ends = [
      { address: [10, 0, 0, this.#number + 1], port: 40_000 },
      { address: [10, 0, 1, 1], port: 5555 },
    ]
    const [source, target] = from === 0 ? ends : ends.reverse()
    packet.set(source?.address ?? [], 12)
    packet.set(target?.address ?? [], 16)
    packet.writeUInt16BE(source?.port ?? 0, 20)
    packet.writeUInt16BE(target?.port ?? 0, 22)
    packet.writeUInt32BE(/** @type {number} */ (this.#sequences[from]) >>> 0, 24)
    packet.writeUInt32BE(/** @type {number} */ (this.#sequences[1 - from]) >>> 0, 28)
    packet[32] = 0x50
    packet[33] = flags
    packet.writeUInt16BE(65_535, 34)
    packet.set(data, 40)
    this.#sequences[from] =
      /** @type {number} */ (this.#sequences[from] + data.length + (flags & 2 ? 1 : 0)) >>> 0
    this.#output.packet(packet)
  }
}

/** A .pcap file. */
class Output {
  #descriptor
  /** @type {Buffer[]} */
  #waiting = []
  #waitingBytes = 0
  #packets = 0
  bytes = 0

  /** @param {string} file */
  constructor(file) {
    this.#descriptor = openSync(file, "w")
    const head = Buffer.alloc(24)
    head.writeUInt32LE(0xa1b2c3d4, 0)
    head.writeUInt16LE(2, 4)
    head.writeUInt16LE(4, 6)
    head.writeUInt32LE(262_144, 16)
    head.writeUInt32LE(RAW_IP, 20)
    this.#add(head)
  }

  /** @param {Buffer} packet */
  packet(packet) {
    const head = Buffer.alloc(16)
    // 5 microseconds apart.
    const microseconds = 5 * this.#packets++
    head.writeUInt32LE(START_SECONDS + Math.floor(microseconds / 1e6), 0)
    head.writeUInt32LE(microseconds % 1e6, 4)
    head.writeUInt32LE(packet.length, 8)
    head.writeUInt32LE(packet.length, 12)
    this.#add(head)
    this.#add(packet)
  }

  /** @param {Buffer} piece */
  #add(piece) {
    this.#waiting.push(piece)
    this.#waitingBytes += piece.length
    this.bytes += piece.length
    if (this.#waitingBytes > 1 << 20) this.#flush()
  }

  #flush() {
    writeSync(this.#descriptor, Buffer.concat(this.#waiting))
    this.#waiting = []
    this.#waitingBytes = 0
  }

  close() {
    this.#flush()
    closeSync(this.#descriptor)
  }
}
