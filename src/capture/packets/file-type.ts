import { hex } from "../../codec/errors.js"
import { CaptureFormatError } from "../errors.js"
import type { FileFormat } from "./file-format.js"
import { Pcap } from "./pcap.js"
import { Pcapng, SECTION_HEADER } from "./pcapng.js"

/** Number of bytes that tell the type of a file, which is the length of a ZMTP greeting's signature. */
export const SIGNATURE_BYTES = 10

/** Common file types that are not supported, by their first bytes. */
const OTHERS: readonly [readonly number[], string][] = [
  [[0x1f, 0x8b], "is compressed with gzip: unpack it first"],
  [[0x42, 0x5a, 0x68], "is compressed with bzip2: unpack it first"],
  [[0xfd, 0x37, 0x7a, 0x58, 0x5a], "is compressed with xz: unpack it first"],
  [[0x28, 0xb5, 0x2f, 0xfd], "is compressed with Zstandard: unpack it first"],
  [[0x04, 0x22, 0x4d, 0x18], "is compressed with LZ4: unpack it first"],
  [[0x50, 0x4b, 0x03, 0x04], "is a ZIP archive: unpack it first"],
  [[0x73, 0x6e, 0x6f, 0x6f, 0x70, 0], `is a capture of snoop: ${converted()}`],
  [[0x47, 0x4d, 0x42, 0x55], `is a capture of Microsoft's Network Monitor: ${converted()}`],
  [[0x34, 0xcd, 0xb2, 0xa1], `is .pcap in the variant of Alexey Kuznetzov: ${converted()}`],
  [[0xa1, 0xb2, 0xcd, 0x34], `is .pcap in the variant of Alexey Kuznetzov: ${converted()}`],
]

/**
 * Returns the type of a file by its first SIGNATURE_BYTES, or all of its bytes if there are fewer.
 * "stream" is the bytes that one side of a ZMTP connection sent, without packets.
 */
export function fileType(head: Uint8Array, file = 0): FileFormat | "stream" {
  if (head.length === 0) throw new CaptureFormatError("is empty", file)
  const view = new DataView(head.buffer, head.byteOffset, head.byteLength)
  const format = head.length >= 4 ? formatBegunBy(view, 0) : undefined
  if (format) return format
  if (head[0] === 0xff && head[SIGNATURE_BYTES - 1] === 0x7f) return "stream"
  const other = OTHERS.find(([magic]) => magic.every((byte, i) => head[i] === byte))
  throw new CaptureFormatError(
    other?.[1] ??
      `begins with ${hex(head)}${asText(head)}: neither .pcap, nor .pcapng, nor the bytes of one side of a ZMTP connection (ff, 8 bytes, 7f)`,
    file,
  )
}

/**
 * Returns the format of a file of packets that begins where a record is expected: files that were
 * joined, as `cat` does. Undefined if it is a record, or fewer than 12 bytes are available.
 */
export function formatBegunAt(
  view: DataView,
  at: number,
  available: number,
): FileFormat | undefined {
  if (available < JOINED_BYTES || !MAGICS.has(view.getUint32(at))) return undefined
  const format = formatBegunBy(view, at)
  // As a record of .pcap it would be of 1975, or empty and of 2055; blocks of .pcapng have other sizes.
  const bigEndian = view.getUint32(at + 4) === VERSION_BIG && view.getUint32(at + 8) === 0
  const littleEndian = view.getUint32(at + 4) === VERSION_LITTLE && view.getUint32(at + 8) === 0
  const isSection = BYTE_ORDERS.has(view.getUint32(at + 8))
  return (format instanceof Pcapng ? isSection : bigEndian || littleEndian) ? format : undefined
}

/** Enough to tell the beginning of a file from a record. */
const JOINED_BYTES = 12
/** The first bytes of files, as one number. */
const MAGICS = new Set([SECTION_HEADER, 0xa1b2c3d4, 0xd4c3b2a1, 0xa1b23c4d, 0x4d3cb2a1])
const BYTE_ORDERS = new Set([0x1a2b3c4d, 0x4d3c2b1a])
/** Version 2.4 of .pcap. */
const VERSION_BIG = 0x00020004
const VERSION_LITTLE = 0x02000400

function formatBegunBy(view: DataView, at: number): FileFormat | undefined {
  if (view.getUint32(at) === SECTION_HEADER) return new Pcapng()
  return Pcap.begunBy(view.getUint32(at), false) ?? Pcap.begunBy(view.getUint32(at, true), true)
}

function converted(): string {
  return "make a .pcapng of it, as editcap does"
}

function asText(head: Uint8Array): string {
  const text = String.fromCharCode(...head)
  return /^[\x20-\x7e\s]+$/.test(text) ? ` (${JSON.stringify(text)})` : ""
}
