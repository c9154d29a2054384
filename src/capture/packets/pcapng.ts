/** .pcapng: https://www.ietf.org/archive/id/draft-ietf-opsawg-pcapng-03.html */
import { checkSize, type FileFormat, type Packet, UnreadableRecord } from "./file-format.js"

// Block types.
/**
 * The block type of a section header, which is the same in both byte orders, so it is recognised
 * before the order is known.
 */
export const SECTION_HEADER = 0x0a0d0d0a
const INTERFACE_DESCRIPTION = 1
const PACKET = 2
const SIMPLE_PACKET = 3
const ENHANCED_PACKET = 6
const DECRYPTION_SECRETS = 10

const BYTE_ORDER_MAGIC = 0x1a2b3c4d
/**
 * Size of a block's type and length, and of a section's byte order. The shortest block has this size
 * too.
 */
const HEAD_BYTES = 12
/** Size of the repeated length at the end of a block. */
const TAIL_BYTES = 4

/** Offsets of a packet's bytes, by block type. */
const PACKET_FIELDS_END = 28
const SIMPLE_PACKET_FIELDS_END = 12
/** The end of the fields of fixed length. */
const FIXED_BYTES: Record<number, number> = {
  [SECTION_HEADER]: 24,
  [INTERFACE_DESCRIPTION]: 16,
  [PACKET]: PACKET_FIELDS_END,
  [SIMPLE_PACKET]: SIMPLE_PACKET_FIELDS_END,
  [ENHANCED_PACKET]: PACKET_FIELDS_END,
}
const NANOSECONDS = 1_000_000_000n
/**
 * Maximum number of interfaces in a section: a small block takes several times its size in memory,
 * until the section ends.
 */
const MAX_INTERFACES = 65_536

// Options of an interface.
const END_OF_OPTIONS = 0
const TIME_RESOLUTION = 9
const TIME_OFFSET = 14

interface Interface {
  linkType: number
  snapLength: number
  unitsPerSecond: bigint
  /** Nanoseconds to add to its time stamps. */
  timeOffset: bigint
}

export class Pcapng implements FileFormat {
  readonly record = "block"
  /** The byte order of the section. */
  #little = true
  #interfaces: Interface[] = []

  size(view: DataView, at: number, available: number): number {
    if (available < HEAD_BYTES) return HEAD_BYTES
    if (view.getUint32(at) === SECTION_HEADER) this.#beginSection(view, at)
    const type = view.getUint32(at, this.#little)
    const size = view.getUint32(at + 4, this.#little)
    const minBytes = (FIXED_BYTES[type] ?? HEAD_BYTES - TAIL_BYTES) + TAIL_BYTES
    checkSize(`a block of type ${type}`, size, minBytes)
    if (size % 4 > 0)
      throw new UnreadableRecord(`a block claims ${size} bytes; a multiple of 4 is allowed`)
    return size
  }

  read(view: DataView, at: number, size: number, offset: number): Packet | undefined {
    const repeated = view.getUint32(at + size - TAIL_BYTES, this.#little)
    if (repeated !== size)
      throw new UnreadableRecord(
        `a block claims ${size} bytes at its beginning and ${repeated} at its end`,
      )
    const type = view.getUint32(at, this.#little)
    if (type === ENHANCED_PACKET || type === PACKET) return this.#packet(view, at, size, offset)
    if (type === SIMPLE_PACKET) return this.#simplePacket(view, at, size, offset)
    if (type === INTERFACE_DESCRIPTION) this.#addInterface(this.#interface(view, at, size))
    return undefined
  }

  /** Returns whether a block has keys with which other connections can be decrypted. */
  hasSecrets(view: DataView, at: number): boolean {
    return view.getUint32(at, this.#little) === DECRYPTION_SECRETS
  }

  #addInterface(described: Interface): void {
    if (this.#interfaces.length === MAX_INTERFACES)
      throw new UnreadableRecord(`a section describes more than ${MAX_INTERFACES} interfaces`)
    this.#interfaces.push(described)
  }

  #beginSection(view: DataView, at: number): void {
    this.#little = view.getUint32(at + 8, true) === BYTE_ORDER_MAGIC
    if (!this.#little && view.getUint32(at + 8) !== BYTE_ORDER_MAGIC)
      throw new UnreadableRecord("a section begins without the magic number of a byte order")
    this.#interfaces = []
  }

  #interface(view: DataView, at: number, size: number): Interface {
    const little = this.#little
    let resolution = 6
    let offsetSeconds = 0n
    const end = at + size - TAIL_BYTES
    for (let option = at + 16; option + 4 <= end; ) {
      const code = view.getUint16(option, little)
      const length = view.getUint16(option + 2, little)
      const value = option + 4
      if (code === END_OF_OPTIONS || value + length > end) break
      if (code === TIME_RESOLUTION && length === 1) resolution = view.getUint8(value)
      if (code === TIME_OFFSET && length === 8) offsetSeconds = view.getBigInt64(value, little)
      option = value + Math.ceil(length / 4) * 4
    }
    return {
      linkType: view.getUint16(at + 8, little),
      snapLength: view.getUint32(at + 12, little),
      unitsPerSecond: (resolution & 0x80 ? 2n : 10n) ** BigInt(resolution & 0x7f),
      timeOffset: offsetSeconds * NANOSECONDS,
    }
  }

  /**
   * Reads an Enhanced Packet Block, or the obsolete Packet Block, which numbers interfaces with 16 bits.
   */
  #packet(view: DataView, at: number, size: number, offset: number): Packet {
    const little = this.#little
    const old = view.getUint32(at, little) === PACKET
    const index = old ? view.getUint16(at + 8, little) : view.getUint32(at + 8, little)
    const source = this.#interfaceOf(index)
    const stamp =
      (BigInt(view.getUint32(at + 12, little)) << 32n) | BigInt(view.getUint32(at + 16, little))
    const captured = view.getUint32(at + 20, little)
    const room = size - PACKET_FIELDS_END - TAIL_BYTES
    if (captured > room)
      throw new UnreadableRecord(
        `a packet claims ${captured} bytes in a block with room for ${room}`,
      )
    return {
      time: (stamp * NANOSECONDS) / source.unitsPerSecond + source.timeOffset,
      linkType: source.linkType,
      bytes: new Uint8Array(view.buffer, view.byteOffset + at + PACKET_FIELDS_END, captured),
      offset: offset + PACKET_FIELDS_END,
      length: view.getUint32(at + 24, little),
    }
  }

  /**
   * Reads a Simple Packet Block. It has no time, belongs to the first interface, and does not give
   * the length of its data.
   */
  #simplePacket(view: DataView, at: number, size: number, offset: number): Packet {
    const { linkType, snapLength } = this.#interfaceOf(0)
    const length = view.getUint32(at + 8, this.#little)
    const room = size - SIMPLE_PACKET_FIELDS_END - TAIL_BYTES
    const captured = Math.min(length, room, snapLength || room)
    return {
      time: undefined,
      linkType,
      bytes: new Uint8Array(view.buffer, view.byteOffset + at + SIMPLE_PACKET_FIELDS_END, captured),
      offset: offset + SIMPLE_PACKET_FIELDS_END,
      length,
    }
  }

  #interfaceOf(index: number): Interface {
    const found = this.#interfaces[index]
    if (found) return found
    throw new UnreadableRecord(
      `a packet refers to interface ${index}, which the file does not describe`,
    )
  }
}
