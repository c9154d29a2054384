/** Overwrites marked bytes of packets, and whatever else in the file tells something about them. */
import type { FileFormat, Packet } from "./file-format.js"
import { UnreadableRecord } from "./file-format.js"
import { formatBegunAt } from "./file-type.js"
import { firstEndingAfter } from "./first-ending-after.js"
import { IpFragments } from "./fragments.js"
import type { IpPayload } from "./ip.js"
import { Layers } from "./layers.js"
import { Pcapng } from "./pcapng.js"
import { type Segment, segmentIn } from "./segment.js"

/** Overwrites a byte. It is not the beginning of a frame, so that none is found where none was. */
const HIDDEN = 0x2a
const CHECKSUM = 16
const CHECKSUM_BYTES = 2
/** Bytes at the beginning of a record that say why it cannot be read, and at its end. */
const RECORD_HEAD_BYTES = 32
const RECORD_TAIL_BYTES = 4
/** The offset of keys in their block. */
const SECRETS_START = 16

/** Bytes of a stream, or of a fragmented packet, that a packet carries. */
interface Run {
  /** The stream or packet, and the place of the bytes in it, modulo 2^32. */
  key: string
  position: number
  offset: number
  length: number
}

/**
 * Overwrites the bytes of `file` that are marked: in `marks`, or by `mark`, which is called for each
 * packet. Packets that repeat such bytes are treated in the same way. What could help to guess them is
 * cleared: checksums, bytes behind the packet, and what the file says of the packet.
 */
export function hideBytes(
  file: Uint8Array,
  marks: Uint8Array,
  format: () => FileFormat,
  mark: (start: number, end: number) => void,
): void {
  for (const { offset, bytes } of packetsIn(file, format())) mark(offset, offset + bytes.length)
  const packets = () => tcpPacketsIn(file, format())
  // A second round, for fragments that repeat bytes of a segment that is repeated.
  for (let round = 0; round < 2; round++) spread(packets, marks)
  const fragmented = new Set<string>()
  for (const { ip, runs } of packets())
    for (const { key, offset, length } of runs)
      if (ip.fragment && isMarked(marks, offset, offset + length)) fragmented.add(key)
  for (const { packet, ip, checksums, runs } of packets()) {
    const { offset: at, recordEnd } = packet
    const end = at + packet.bytes.length
    const isPartOfOne = ip.fragment && runs.some(({ key }) => fragmented.has(key))
    if (!isPartOfOne && !isMarked(marks, at, recordEnd)) continue
    // Even a corrected checksum would tell too much, if there are few bytes or it was incomplete.
    if ((ip.fragment?.offset ?? 0) === 0) checksums.push(ip.start + CHECKSUM)
    for (const place of checksums)
      file.fill(0, Math.min(at + place, end), Math.min(at + place + CHECKSUM_BYTES, end))
    file.fill(0, Math.min(at + ip.end, end), recordEnd)
  }
  for (let i = 0; i < file.length; i++) if (marks[i]) file[i] = HIDDEN
}

/** A packet, and the end of what the file says of it. */
interface PlacedPacket extends Packet {
  recordEnd: number
}

interface TcpPacket {
  packet: PlacedPacket
  ip: IpPayload
  /** The places of the checksums of tunnels in the packet. */
  checksums: number[]
  runs: Run[]
}

function* tcpPacketsIn(file: Uint8Array, format: FileFormat): Generator<TcpPacket> {
  const fragments = new IpFragments(() => {})
  // At most one for each packet.
  const found: { bytes: Uint8Array; ip: IpPayload }[] = []
  let checksums: number[] = []
  const layers = new Layers({
    ip: (bytes, ip) => found.push({ bytes, ip }),
    checksum: (at) => checksums.push(at),
    unread: () => {},
  })
  for (const packet of packetsIn(file, format)) {
    checksums = []
    layers.read(packet)
    for (const { bytes, ip } of found.splice(0))
      yield { packet, ip, checksums, runs: runsOf({ ...packet, bytes }, ip, fragments) }
  }
}

/** Returns the packets of a file. Clears what cannot be read, and keys that a .pcapng may have. */
function* packetsIn(file: Uint8Array, first: FileFormat): Generator<PlacedPacket> {
  let format = first
  const view = new DataView(file.buffer, file.byteOffset, file.byteLength)
  let size = 0
  for (let at = 0; at < file.length; at += size) {
    let packet: Packet | undefined
    size = 0
    try {
      format = formatBegunAt(view, at, file.length - at) ?? format
      size = format.size(view, at, file.length - at, true)
      if (at + size <= file.length && format instanceof Pcapng && format.hasSecrets(view, at))
        file.fill(0, at + SECRETS_START, at + size - RECORD_TAIL_BYTES)
      if (at + size <= file.length) packet = format.read(view, at, size, at)
    } catch (error) {
      if (!(error instanceof UnreadableRecord)) throw error
      clearFrom(file, at, size)
      return
    }
    if (at + size > file.length) {
      clearFrom(file, at, 0)
      return
    }
    if (!packet) continue
    const tail = format.record === "block" ? RECORD_TAIL_BYTES : 0
    yield { ...packet, recordEnd: at + size - tail }
  }
}

/** Clears a record that is not read, and all after it, except the numbers that say why. */
function clearFrom(file: Uint8Array, at: number, size: number): void {
  const end = size > 0 && at + size <= file.length ? at + size : file.length + RECORD_TAIL_BYTES
  file.fill(0, at + RECORD_HEAD_BYTES, Math.max(at + RECORD_HEAD_BYTES, end - RECORD_TAIL_BYTES))
  file.fill(0, end)
}

function runsOf(packet: Packet, ip: IpPayload, fragments: IpFragments): Run[] {
  const { bytes, offset, time } = packet
  if (!ip.fragment) {
    const segment = segmentIn(bytes, ip, offset, time)
    return segment ? [runOf(segment)] : []
  }
  const { id, offset: position } = ip.fragment
  const addresses = bytes.subarray(ip.addresses, ip.addresses + (ip.version === 4 ? 8 : 32))
  const length = Math.max(0, Math.min(bytes.length, ip.end) - ip.start)
  const whole = { key: `${addresses.join()} ${id}`, position, offset: offset + ip.start, length }
  return [whole, ...fragments.push(bytes, ip, ip.fragment, offset, time).map(runOf)]
}

function runOf({ source, destination, sequence, syn, offset, bytes }: Segment): Run {
  return {
    key: source + destination,
    position: (sequence + Number(syn)) >>> 0,
    offset,
    length: bytes.length,
  }
}

/** Marks the bytes that are at the same place of a stream or a packet as marked ones. */
function spread(packets: () => Iterable<TcpPacket>, marks: Uint8Array): void {
  const marked = new Map<string, Intervals>()
  for (const { runs } of packets())
    for (const { key, position, offset, length } of runs) {
      const seen = marks.subarray(offset, offset + length)
      for (let at = seen.indexOf(1); at >= 0; ) {
        const gap = seen.indexOf(0, at)
        const end = gap < 0 ? seen.length : gap
        const intervals = marked.get(key) ?? new Intervals()
        marked.set(key, intervals)
        intervals.add(position + at, end - at)
        at = seen.indexOf(1, end)
      }
    }
  for (const { runs } of packets())
    for (const { key, position, offset, length } of runs)
      marked.get(key)?.within(position, length, (from, to) => {
        marks.fill(1, offset + from, offset + to)
      })
}

/** Ranges of positions modulo 2^32, as sequence numbers are. */
class Intervals {
  #origin: number | undefined
  #ranges: { start: number; end: number }[] = []
  #isSorted = true

  add(position: number, length: number): void {
    const start = this.#at(position)
    const last = this.#ranges.at(-1)
    if (last && last.start <= start && start <= last.end) {
      last.end = Math.max(last.end, start + length)
      return
    }
    this.#ranges.push({ start, end: start + length })
    this.#isSorted = false
  }

  /** Visits the parts of a run that are in the ranges. */
  within(position: number, length: number, visit: (from: number, to: number) => void): void {
    this.#sort()
    const start = this.#at(position)
    let at = firstEndingAfter(this.#ranges, start)
    for (
      let range = this.#ranges[at];
      range && range.start < start + length;
      range = this.#ranges[++at]
    )
      visit(Math.max(0, range.start - start), Math.min(length, range.end - start))
  }

  #at(position: number): number {
    this.#origin ??= position
    return (position - this.#origin) | 0
  }

  /** Puts the ranges in order, and joins those that overlap. */
  #sort(): void {
    if (this.#isSorted) return
    this.#isSorted = true
    const sorted = this.#ranges.sort((a, b) => a.start - b.start)
    this.#ranges = []
    for (const range of sorted) {
      const last = this.#ranges.at(-1)
      if (last && range.start <= last.end) last.end = Math.max(last.end, range.end)
      else this.#ranges.push(range)
    }
  }
}

const isMarked = (marks: Uint8Array, from: number, to: number): boolean =>
  marks.subarray(from, to).includes(1)
