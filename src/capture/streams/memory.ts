/** Limits of memory that all connections of a capture share, so that their number does not matter. */
import type { CaptureMessage, CapturePart, Time } from "../events.js"
import { PackedMessage } from "./packed-message.js"

const MIB = 1024 * 1024

/** Approximate memory of an event, and of a part, an array and an error in it, besides their bytes. */
export const EVENT_BYTES = 550
const PART_BYTES = 80
const ARRAY_BYTES = 250
const ERROR_BYTES = 500

/** Returns approximately the memory that a message takes as an event. */
export function messageBytes(
  message: Pick<CaptureMessage, "parts" | "wireBytes" | "plainBytes">,
): number {
  const { wireBytes, plainBytes } = message
  const packed = PackedMessage.of(message)
  if (packed) return EVENT_BYTES + wireBytes + packed.frameBytes
  const bytes = EVENT_BYTES + wireBytes + plainBytes
  return message.parts.reduce((sum, part) => sum + partBytes(part), bytes)
}

function partBytes({ wire, plain, error }: CapturePart): number {
  const arrays = (wire.length > 0 ? 1 : 0) + (plain && plain !== wire ? 1 : 0)
  return PART_BYTES + arrays * ARRAY_BYTES + (error ? ERROR_BYTES : 0)
}

/** Maximum numbers of bytes, of all connections together. */
export interface MaxBytes {
  /** Parts of messages, and commands, whose rest has not been read. */
  unfinished: number
  /** Properties of handshakes of connections that have not ended. */
  handshakes: number
  /** Dictionaries of connections that have not ended. */
  dictionaries: number
  /**
   * Messages, commands and errors that the same bytes of the file complete: a few bytes can complete
   * many large messages, or fill the gap before many small ones.
   */
  pending: number
}

const MAX_BYTES: MaxBytes = {
  unfinished: 256 * MIB,
  handshakes: 64 * MIB,
  dictionaries: 64 * MIB,
  pending: 512 * MIB,
}

/** The memory that the connections of a capture share. */
export class SharedMemory {
  readonly unfinished: Unfinished
  readonly handshakes: Allowance
  readonly dictionaries: Allowance
  readonly pending: Allowance

  constructor(maxBytes: Partial<MaxBytes> = {}) {
    const { unfinished, handshakes, dictionaries, pending } = { ...MAX_BYTES, ...maxBytes }
    this.unfinished = new Unfinished(unfinished)
    this.handshakes = new Allowance(handshakes)
    this.dictionaries = new Allowance(dictionaries)
    this.pending = new Allowance(pending)
  }
}

/** A user of memory for something that is not complete yet. */
export interface Holder {
  /** Drops it. Later data of the holder is read again from the next message on. */
  forget(time: Time): void
}

/**
 * Counts the bytes that directions keep of unfinished messages. Above the limit, those that grew
 * longest ago forget theirs. The one that grows now is not forgotten: `maxMessageSize` limits it.
 */
export class Unfinished {
  readonly #maxBytes: number
  /** The bytes of each holder; the one that grew last is at the end. */
  readonly #holders = new Map<Holder, number>()
  #bytes = 0

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes
  }

  get maxBytes(): number {
    return this.#maxBytes
  }

  /** Sets the bytes that a holder keeps. */
  set(holder: Holder, bytes: number, time: Time): void {
    this.#remove(holder)
    if (bytes === 0) return
    this.#holders.set(holder, bytes)
    this.#bytes += bytes
    if (this.#bytes <= this.#maxBytes) return
    for (const other of this.#holders.keys()) {
      if (this.#bytes <= this.#maxBytes || other === holder) return
      this.#remove(other)
      other.forget(time)
    }
  }

  #remove(holder: Holder): void {
    this.#bytes -= this.#holders.get(holder) ?? 0
    this.#holders.delete(holder)
  }
}

/** A number of bytes that can be taken and given back. */
export class Allowance {
  readonly maxBytes: number
  #left: number

  constructor(maxBytes: number) {
    this.maxBytes = maxBytes
    this.#left = maxBytes
  }

  /** Whether nothing is left. */
  get isUsedUp(): boolean {
    return this.#left <= 0
  }

  /** Takes bytes, and returns true, if that many are left. */
  take(bytes: number): boolean {
    if (bytes > this.#left) return false
    this.#left -= bytes
    return true
  }

  /** Takes bytes, even if fewer are left. */
  use(bytes: number): void {
    this.#left -= bytes
  }

  give(bytes: number): void {
    this.#left += bytes
  }

  /** Gives back everything. */
  renew(): void {
    this.#left = this.maxBytes
  }
}
