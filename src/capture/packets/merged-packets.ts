import { Heap } from "../../base/heap.js"
import type { Packet } from "./file-format.js"

interface File {
  index: number
  /** Packets that are not passed on yet, from the one at `at` on, and their times. */
  packets: Packet[]
  times: bigint[]
  at: number
  /** The time of the last packet that has one. */
  time: bigint
  hasEnded: boolean
}

/** Merges the packets of several files by time. Within a file they keep their order. */
export class MergedPackets {
  readonly #files: File[]
  readonly #packet: (packet: Packet) => void
  /** Files with packets, by the time of the next one. */
  readonly #filled = new Heap<File>(
    (one, other) =>
      nextTime(one) < nextTime(other) ||
      (nextTime(one) === nextTime(other) && one.index < other.index),
  )
  /** Number of files that have no packets now, but may get some. */
  #empty: number

  constructor(files: number, packet: (packet: Packet) => void) {
    this.#packet = packet
    this.#empty = files
    this.#files = Array.from({ length: files }, (_, index) => ({
      ...{ index, packets: [], times: [], at: 0, time: 0n, hasEnded: false },
    }))
  }

  /** The file whose next packets are needed before others can be passed on; undefined at the end. */
  get wanted(): number | undefined {
    if (this.#empty === 0) return undefined
    return this.#files.findIndex(({ packets, hasEnded }) => !hasEnded && packets.length === 0)
  }

  /** Adds a packet of a file, whose bytes are copied. */
  add(file: number, packet: Packet): void {
    const to = this.#files[file] as File
    // A packet without a time follows the one before it.
    to.time = packet.time ?? to.time
    to.times.push(to.time)
    to.packets.push({ ...packet, bytes: packet.bytes.slice() })
    if (to.packets.length > 1) return
    this.#empty--
    this.#filled.add(to)
  }

  end(file: number): void {
    const ended = this.#files[file] as File
    if (!ended.hasEnded && ended.packets.length === 0) this.#empty--
    ended.hasEnded = true
  }

  /** Passes on the packets that no packet of another file can precede. */
  passOn(): void {
    while (this.#empty === 0) {
      const first = this.#filled.take()
      if (!first) return
      const second = this.#filled.take()
      if (second) this.#filled.add(second)
      const until = second && nextTime(second)
      do {
        this.#packet(first.packets[first.at++] as Packet)
      } while (first.at < first.packets.length && (until === undefined || nextTime(first) <= until))
      if (first.at < first.packets.length) {
        this.#filled.add(first)
        continue
      }
      first.packets = []
      first.times = []
      first.at = 0
      if (!first.hasEnded) this.#empty++
    }
  }
}

const nextTime = ({ times, at }: File): bigint => times[at] as bigint
