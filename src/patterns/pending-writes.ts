import { Queue } from "../base/queue.js"
import { Chunk } from "../codec/chunk.js"
import type { Packing } from "../codec/packing.js"
import type { PendingWrite, Waiting } from "../transport/transport.js"

/** Chunks are checked for copying whenever `1 / COPY_SHARE` of the queue has changed. */
const COPY_SHARE = 8

/** Returns the sum of what waits in several places. */
export function sumOfWaiting(
  ...places: readonly ({ readonly waiting: Waiting } | undefined)[]
): Waiting {
  const total = { messages: 0, bytes: 0 }
  for (const place of places) {
    if (!place) continue
    const { messages, bytes } = place.waiting
    total.messages += messages
    total.bytes += bytes
  }
  return total
}

/** Encoded messages and commands that the network has not had room for. */
export class PendingWrites extends Queue<PendingWrite> {
  /** Items added and taken since the queue was last checked for copying. */
  #changes = 0

  /** The messages of the chunks; commands do not count. */
  get waiting(): Waiting {
    const total = { messages: 0, bytes: 0 }
    for (const item of this) {
      if (!(item instanceof Chunk)) continue
      total.messages += item.messages
      total.bytes += item.length
    }
    return total
  }

  override push(item: PendingWrite): void {
    this.#changes++
    super.push(item)
  }

  override shift(): PendingWrite | undefined {
    this.#changes++
    return super.shift()
  }

  pushCopy(chunk: Chunk): void {
    this.push(chunk.copied())
    this.copySome()
  }

  /**
   * Copies chunks out of slabs that have emptied meanwhile; not each time, because a peer that reads
   * slowly can make the queue long.
   */
  copySome(): void {
    if (this.#changes * COPY_SHARE >= this.length) this.#copy()
  }

  /** Takes the next item, joined with the chunks that follow it in memory. */
  takeJoined(packing: Packing): PendingWrite {
    let item = this.shift() as PendingWrite
    while (item instanceof Chunk) {
      const next = this.first()
      const joined = next instanceof Chunk && next.fits(packing) ? item.joined(next) : undefined
      if (!joined) break
      this.shift()
      item = joined
    }
    return item
  }

  /** Puts back, in front of the others, items that a lost connection did not write. */
  putBack(items: readonly PendingWrite[]): void {
    const others = [...this]
    super.clear()
    for (const item of items) this.push(item)
    for (const item of others) this.push(item)
    this.#copy()
  }

  /** Copies chunks into memory of their own, so that their slabs can be reused. */
  #copy(): void {
    for (let i = this.length; i > 0; i--) {
      const item = this.shift() as PendingWrite
      this.push(item instanceof Chunk ? item.copied() : item)
    }
    this.#changes = 0
  }

  override clear(): void {
    for (let item = this.shift(); item; item = this.shift())
      if (item instanceof Chunk) item.release()
  }
}
