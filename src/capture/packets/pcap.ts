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
/** Variants with the same beginning, and the bytes that each packet's head has more. */
const VARIANTS: readonly (readonly [name: string, bytes: number])[] = [
  ["Nokia", 4],
  ["Red Hat 6.1", 8],
]

export class Pcap implements FileFormat {
  readonly #little: boolean
  readonly #fractionNanoseconds: bigint
  /** Set once the file's header is read. */
  #linkType: number | undefined
  #packets = 0

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

  size(view: DataView, at: number, available: number): number {
    if (this.#linkType === undefined) return FILE_HEAD_BYTES
    if (available < RECORD_HEAD_BYTES) return RECORD_HEAD_BYTES
    const captured = view.getUint32(at + 8, this.#little)
    // The second packet shows whether the first one was as long as it says.
    if (this.#packets === 1 && this.#isMisplaced(view, at))
      throw new UnreadableRecord(
        `the second packet is not where the first one ends: this ${this.#variant(view, at, available)}: make a .pcapng of it, as editcap does`,
      )
    checkSize("a packet", captured, 0)
    return RECORD_HEAD_BYTES + captured
  }

  read(view: DataView, at: number, size: number, offset: number): Packet | undefined {
    if (this.#linkType === undefined) {
      // The upper half may give the length of frame check sequences, which IP's own length excludes.
      this.#linkType = view.getUint32(at + 20, this.#little) & 0xffff
      return undefined
    }
    this.#packets++
    const seconds = BigInt(view.getUint32(at, this.#little))
    const fraction = BigInt(view.getUint32(at + 4, this.#little))
    return {
      time: seconds * 1_000_000_000n + fraction * this.#fractionNanoseconds,
      linkType: this.#linkType,
      bytes: new Uint8Array(
        view.buffer,
        view.byteOffset + at + RECORD_HEAD_BYTES,
        size - RECORD_HEAD_BYTES,
      ),
      offset: offset + RECORD_HEAD_BYTES,
      length: view.getUint32(at + 12, this.#little),
    }
  }

  /** Says which variant of .pcap it is, as the second packet is further on by what the first one's head has more. */
  #variant(view: DataView, at: number, available: number): string {
    for (const [name, bytes] of VARIANTS)
      if (available >= bytes + RECORD_HEAD_BYTES && this.#isPlausible(view, at + bytes))
        return `is the variant of .pcap of ${name}, whose packets have headers of ${RECORD_HEAD_BYTES + bytes} bytes`
    const names = VARIANTS.map(([name]) => name).join(", ")
    return `may be a variant of .pcap whose packets have longer headers (${names})`
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

  /** Returns whether no packet has such a head: more bytes than on the wire, and a wrong time or size. */
  #isMisplaced(view: DataView, at: number): boolean {
    const fraction = view.getUint32(at + 4, this.#little)
    const captured = view.getUint32(at + 8, this.#little)
    const isWrong = fraction >= 1_000_000_000 || captured > RECORD_MAX_BYTES
    return isWrong && captured > view.getUint32(at + 12, this.#little)
  }
}
