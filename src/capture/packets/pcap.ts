/** .pcap: https://www.ietf.org/archive/id/draft-ietf-opsawg-pcap-06.html */
import {
  checkSize,
  type FileFormat,
  type Packet,
  RECORD_MAX_BYTES,
  UnreadableRecord,
} from "./file-format.js"

const MAGIC_MICROSECONDS = 0xa1b2c3d4
const MAGIC_NANOSECONDS = 0xa1b23c4d
const FILE_HEAD_BYTES = 24
const RECORD_HEAD_BYTES = 16
/** A format with the same beginning, in which the head of each packet has some bytes more. */
interface Variant {
  name: string
  bytes: number
}

const VARIANTS: readonly Variant[] = [
  { name: "Nokia", bytes: 4 },
  { name: "Red Hat 6.1", bytes: 8 },
]

const VARIANT_MAX_BYTES = Math.max(...VARIANTS.map(({ bytes }) => bytes))

export class Pcap implements FileFormat {
  readonly #little: boolean
  readonly #fractionNanoseconds: bigint
  /** Set once the file's header is read. */
  #linkType: number | undefined
  #packets = 0
  /** Bytes that the head of a packet has more than in .pcap. */
  #moreHead = 0

  /** Returns the format of a file that begins with this number, read as little or big endian. */
  static begunBy(magic: number, little: boolean): Pcap | undefined {
    if (magic === MAGIC_MICROSECONDS) return new Pcap(little, 1000n)
    if (magic === MAGIC_NANOSECONDS) return new Pcap(little, 1n)
    return undefined
  }

  private constructor(little: boolean, fractionNanoseconds: bigint) {
    this.#little = little
    this.#fractionNanoseconds = fractionNanoseconds
  }

  get record(): string {
    return this.#linkType === undefined ? "file header" : "packet"
  }

  size(view: DataView, at: number, available: number, isLast: boolean): number {
    if (this.#linkType === undefined) return FILE_HEAD_BYTES
    if (this.#packets === 0) {
      const needed = this.#neededForVariant(view, at, available)
      if (available < needed && !isLast) return needed
      this.#moreHead = this.#variant(view, at, available)?.bytes ?? 0
    }
    const headBytes = RECORD_HEAD_BYTES + this.#moreHead
    if (available < headBytes) return headBytes
    const captured = view.getUint32(at + 8, this.#little)
    // The second packet shows whether the first one was as long as it says.
    if (this.#packets === 1 && this.#isMisplaced(view, at))
      throw new UnreadableRecord(
        `the second packet is not where the first one ends: this may be a variant of .pcap whose packets have longer headers (${VARIANTS.map(({ name }) => name).join(", ")}): make a .pcapng of it, as editcap does`,
      )
    checkSize("a packet", captured, 0)
    return headBytes + captured
  }

  read(view: DataView, at: number, size: number, offset: number): Packet | undefined {
    if (this.#linkType === undefined) {
      // The upper half may give the length of frame check sequences, which IP's own length excludes.
      this.#linkType = view.getUint32(at + 20, this.#little) & 0xffff
      return undefined
    }
    this.#packets++
    const headBytes = RECORD_HEAD_BYTES + this.#moreHead
    const seconds = BigInt(view.getUint32(at, this.#little))
    const fraction = BigInt(view.getUint32(at + 4, this.#little))
    return {
      time: seconds * 1_000_000_000n + fraction * this.#fractionNanoseconds,
      linkType: this.#linkType,
      bytes: new Uint8Array(view.buffer, view.byteOffset + at + headBytes, size - headBytes),
      offset: offset + headBytes,
      length: view.getUint32(at + 12, this.#little),
    }
  }

  /**
   * Returns the number of bytes, from the first packet at `at` on, that are needed to know the variant.
   */
  #neededForVariant(view: DataView, at: number, available: number): number {
    if (available < RECORD_HEAD_BYTES) return RECORD_HEAD_BYTES
    const captured = view.getUint32(at + 8, this.#little)
    // Too large in every variant.
    if (captured > RECORD_MAX_BYTES) return RECORD_HEAD_BYTES
    const second = RECORD_HEAD_BYTES + captured
    const needed = second + RECORD_HEAD_BYTES
    if (available < needed || !this.#isMisplaced(view, at + second)) return needed
    return needed + VARIANT_MAX_BYTES
  }

  /**
   * Returns the variant whose second packet is where the first one, at `at`, ends; undefined if that is
   * so in .pcap itself, or not known because there are too few bytes.
   */
  #variant(view: DataView, at: number, available: number): Variant | undefined {
    if (available < RECORD_HEAD_BYTES) return undefined
    const second = RECORD_HEAD_BYTES + view.getUint32(at + 8, this.#little)
    if (available < second + RECORD_HEAD_BYTES || !this.#isMisplaced(view, at + second))
      return undefined
    return VARIANTS.find(
      ({ bytes }) =>
        available >= second + bytes + RECORD_HEAD_BYTES &&
        this.#isPlausible(view, at + second + bytes),
    )
  }

  /** Returns whether a packet may have such a head. */
  #isPlausible(view: DataView, at: number): boolean {
    const fraction = view.getUint32(at + 4, this.#little)
    const captured = view.getUint32(at + 8, this.#little)
    const length = view.getUint32(at + 12, this.#little)
    return (
      fraction < 1_000_000 && captured > 0 && captured <= RECORD_MAX_BYTES && captured <= length
    )
  }

  /**
   * Returns whether no packet has such a head: more bytes than on the wire, and a wrong time or size.
   */
  #isMisplaced(view: DataView, at: number): boolean {
    const fraction = view.getUint32(at + 4, this.#little)
    const captured = view.getUint32(at + 8, this.#little)
    const isWrong = fraction >= 1_000_000_000 || captured > RECORD_MAX_BYTES
    return isWrong && captured > view.getUint32(at + 12, this.#little)
  }
}
