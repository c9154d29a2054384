import type { Packet } from "./file-format.js"

interface File {
  /** Packets that are not passed on yet, from the one at `at` on. */
  packets: Packet[]
  at: number
  /** The time of the last packet that has one. */
  time: bigint
  hasEnded: boolean
}

/** Merges the packets of several files by time. Within a file they keep their order. */
export class MergedPackets {
  readonly #files: File[]
  readonly #packet: (packet: Packet) => void

  constructor(files: number, packet: (packet: Packet) => void) {
    this.#packet = packet
    this.#files = Array.from({ length: files }, () => ({
      ...{ packets: [], at: 0, time: 0n, hasEnded: false },
    }))
  }

  /** The file whose next packets are needed before others can be passed on; undefined at the end. */
  get wanted(): number | undefined {
    const index = this.#files.findIndex(
      ({ packets, hasEnded }) => !hasEnded && packets.length === 0,
    )
    return index < 0 ? undefined : index
  }

  /** Adds a packet of a file, whose bytes are copied. */
  add(file: number, packet: Packet): void {
    const to = this.#files[file] as File
    // A packet without a time follows the one before it.
    to.time = packet.time ?? to.time
    to.packets.push({ ...packet, bytes: packet.bytes.slice() })
  }

  end(file: number): void {
    ;(this.#files[file] as File).hasEnded = true
  }

  /** Passes on the packets that no packet of another file can precede. */
  passOn(): void {
    while (this.wanted === undefined) {
      const [first, second] = this.#files
        .filter(({ packets }) => packets.length > 0)
        .sort((a, b) => Number(nextTime(a) - nextTime(b)))
      if (!first) return
      const until = second && nextTime(second)
      do {
        this.#packet(first.packets[first.at++] as Packet)
      } while (first.at < first.packets.length && (until === undefined || nextTime(first) <= until))
      if (first.at < first.packets.length) continue
      first.packets = []
      first.at = 0
    }
  }
}

const nextTime = ({ packets, at, time }: File): bigint => packets[at]?.time ?? time
