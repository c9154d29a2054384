import { ByteQueue } from "./byte-queue.js"
import { INPUT, type InputUser, type Instance } from "./instance.js"
import type { Pointer } from "./module-memory.js"
import type { Source } from "./source.js"

/** Minimum size requested of INPUT, so that several chunks fit one after the other. */
const ROW_BYTES = 512 * 1024

/**
 * Bytes received but not yet consumed. They stay in INPUT, where more are appended, until another
 * connection needs the region; then they are moved to a queue.
 */
export class Leftover implements InputUser {
  readonly #instance: Instance
  /** Created on first use: most connections never need it. */
  #queue: ByteQueue | undefined
  /** The bytes in INPUT are from `#at` to `#end`, in a region from `#start` to `#limit`. */
  #at = 0
  #end = 0
  #start = 0
  #limit = 0

  constructor(instance: Instance) {
    this.#instance = instance
  }

  get length(): number {
    return this.#end - this.#at + (this.#queue?.length ?? 0)
  }

  push(bytes: Uint8Array): void {
    if (bytes.length === 0) return
    if (!this.#append(bytes)) {
      this.moveOut()
      this.#enqueue(bytes)
    }
  }

  /** Appends `bytes`. Returns the address of all bytes, contiguous in INPUT. Call `keep` afterwards. */
  gather(bytes: Uint8Array): Pointer {
    if (!this.#append(bytes)) this.#move(bytes)
    return this.#at as Pointer
  }

  /** Drops the bytes before `from`, which were consumed. */
  keep(from: number): void {
    this.#at = from
    if (this.#at < this.#end) this.#instance.inputUser = this
    else this.#leave()
  }

  /** Returns all bytes as a source outside of INPUT. */
  asSource(): Source {
    this.moveOut()
    this.#queue ??= new ByteQueue()
    return this.#queue
  }

  moveOut(): void {
    const rest = this.#instance.bytes.subarray(this.#at, this.#end)
    this.#leave()
    this.#enqueue(rest)
  }

  close(): void {
    this.#leave()
  }

  #append(bytes: Uint8Array): boolean {
    if (this.#at === this.#end) return false
    const memory = this.#instance.bytes
    if (this.#end + bytes.length > this.#limit) {
      if (this.length + bytes.length > this.#limit - this.#start) return false
      memory.copyWithin(this.#start, this.#at, this.#end)
      this.#end -= this.#at - this.#start
      this.#at = this.#start
    }
    memory.set(bytes, this.#end)
    this.#end += bytes.length
    return true
  }

  #move(bytes: Uint8Array): void {
    this.moveOut()
    const waiting = this.#queue?.length ?? 0
    const length = waiting + bytes.length
    const room = Math.max(ROW_BYTES, length)
    const input = this.#instance.scratch(INPUT, room)
    this.#queue?.read(this.#instance.view(input, waiting))
    this.#instance.bytes.set(bytes, input + waiting)
    this.#start = this.#at = input
    this.#end = input + length
    this.#limit = input + room
  }

  #enqueue(bytes: Uint8Array): void {
    if (bytes.length === 0) return
    this.#queue ??= new ByteQueue()
    this.#queue.push(bytes)
  }

  #leave(): void {
    this.#at = this.#end = 0
    if (this.#instance.inputUser === this) this.#instance.inputUser = undefined
  }
}
