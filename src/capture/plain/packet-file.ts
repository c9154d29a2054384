/** Writes .pcap and .pcapng files of IP packets, little-endian and with times in nanoseconds. */
import { concat } from "../../codec/arrays.js"
import type { Time } from "../events.js"

/** Packets begin with the head of IPv4 or IPv6. */
const LINK_TYPE_RAW = 101
const SNAP_LENGTH = 1 << 18
const SECOND = 1_000_000_000n

/** A format of files with packets. */
export interface PacketFile {
  /** The beginning of a file. */
  head(): Uint8Array
  /** Returns a packet as it is in the file. Without a time it is at the beginning of 1970. */
  packet(bytes: Uint8Array, time: Time): Uint8Array
}

const u32s = (...numbers: readonly number[]): Uint8Array => {
  const bytes = new Uint8Array(4 * numbers.length)
  const view = new DataView(bytes.buffer)
  for (const [i, number] of numbers.entries()) view.setUint32(4 * i, number, true)
  return bytes
}

export const pcap: PacketFile = {
  head: () => u32s(0xa1b23c4d, 2 | (4 << 16), 0, 0, SNAP_LENGTH, LINK_TYPE_RAW),
  packet(bytes, time = 0n) {
    const head = u32s(Number(time / SECOND), Number(time % SECOND), bytes.length, bytes.length)
    return concat([head, bytes])
  },
}

/** Types of blocks, and the overhead of a block in bytes. */
const SECTION = 0x0a0d0d0a
const INTERFACE = 1
const PACKET = 6
const BLOCK_BYTES = 12

export const pcapng: PacketFile = {
  head() {
    const section = block(SECTION, u32s(0x1a2b3c4d, 1, 0xffffffff, 0xffffffff))
    // The option if_tsresol, and the end of options.
    const resolution = u32s(9 | (1 << 16), 9, 0)
    const description = block(INTERFACE, u32s(LINK_TYPE_RAW, SNAP_LENGTH), resolution)
    return concat([section, description])
  },
  packet(bytes, time = 0n) {
    const [high, low] = [Number(time >> 32n), Number(time & 0xffffffffn)]
    return block(PACKET, u32s(0, high, low, bytes.length, bytes.length), bytes)
  },
}

/** Returns a block. Its last piece may have any length. */
function block(type: number, ...pieces: readonly Uint8Array[]): Uint8Array {
  const bodyBytes = pieces.reduce((sum, { length }) => sum + length, 0)
  const padding = new Uint8Array(-bodyBytes & 3)
  const length = BLOCK_BYTES + bodyBytes + padding.length
  return concat([u32s(type, length), ...pieces, padding, u32s(length)])
}
