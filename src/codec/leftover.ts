import { ByteQueue } from "./byte-queue.js"
import { INPUT, type InputUser, type Instance, type Pointer } from "./instance.js"
import type { Source } from "./source.js"

/** The minimum that is asked of INPUT, so that a few chunks fit behind each other. */
const ROW_BYTES = 512 * 1024

/**
 * Bytes received but not yet consumed. They stay where they are in INPUT,
 * and more is added behind it, until somebody else needs that memory; it waits
 * in a queue from then on.
 */
export class Leftover implements InputUser {
  readonly #instance: Instance
  /** Made when it is needed: most connections never do. */
  #queue: ByteQueue | undefined
  /** The row in INPUT: what is left of it, and how far it may reach. */
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

  /** Puts `bytes` behind what there is and all of it in a row in INPUT; `keep` says what is left. */
  gather(bytes: Uint8Array): Pointer {
    if (!this.#append(bytes)) this.#move(bytes)
    return this.#at as Pointer
  }

  /** Drops the bytes before `from`, which were consumed. */
  keep(from: number): void {
    this.#at = from
    if (this.#at < this.#end) this.#instance.useInput(this)
    else this.#leave()
  }

  /** All there is, outside of INPUT. */
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
    this.#instance.leaveInput(this)
  }
}
