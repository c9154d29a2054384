import { copyShared } from "../base/copy-shared.js"
import { FRAMES_MAX } from "../base/limits.js"
import { setImmediate } from "../base/runtime.js"
import { SLAB_BYTES, type Slab } from "../codec/slabs.js"
import { fromWorker, type MessageFromWorker, type PostedEvent } from "./protocol.js"
import { AnnouncedSlabs, SharedSlabs } from "./shared-slabs.js"

const NONE = -1

/** Events for the socket thread, collected during a turn of the event loop. */
export class WorkerOutbox {
  readonly #send: (message: MessageFromWorker, transfer: ArrayBuffer[]) => void
  readonly #slabs = new SharedSlabs()
  readonly #announced: AnnouncedSlabs
  #message: MessageFromWorker = []
  #transfer: ArrayBuffer[] = []
  #posting = false
  /** The latest run of frames, which may still grow: its index, frames, and end in the slab. */
  #latest = 0
  #latestFrames = 0
  #end = NONE

  constructor(send: (message: MessageFromWorker, transfer: ArrayBuffer[]) => void) {
    this.#send = send
    this.#announced = new AnnouncedSlabs(this.#slabs, (notice) => this.#add(notice))
  }

  event(endpoint: number, event: PostedEvent): void {
    this.#add({ type: "event", endpoint, event })
  }

  #add(...items: MessageFromWorker): void {
    this.#message.push(...items)
    this.#end = NONE
    this.#postSoon()
  }

  /** Reports that the event loop has polled since the socket thread asked. */
  polled(): void {
    this.#add(fromWorker.POLLED)
  }

  /** Adds the large body of a frame, whose memory goes to the other thread. */
  body(connection: number, flags: number, body: Buffer): void {
    const memory = body.buffer as ArrayBuffer
    this.#transfer.push(memory)
    this.#add(fromWorker.BODY, connection, flags, memory)
  }

  /** Adds a piece of the frames received over a connection, in which `frames` frames begin. */
  frames(connection: number, bytes: Uint8Array, frames: number): void {
    let left = frames
    for (let at = 0; at < bytes.length; at += SLAB_BYTES) {
      this.#run(connection, bytes.subarray(at, at + SLAB_BYTES), left)
      left = 0
    }
  }

  #run(connection: number, bytes: Uint8Array, frames: number): void {
    const slab = this.#slabs.withRoom(bytes.length) as Slab
    const start = slab.used
    copyShared(slab.bytes, start, bytes)
    slab.used += bytes.length
    const number = this.#announced.numberOf(slab)
    const message = this.#message
    const latest = this.#latest
    const joins =
      this.#end === start && message[latest + 1] === connection && message[latest + 2] === number
    // The socket thread looks at the time after each run.
    if (joins && this.#latestFrames < FRAMES_MAX) {
      message[latest + 4] = (message[latest + 4] as number) + bytes.length
      this.#latestFrames += frames
    } else {
      this.#latest = message.length
      this.#latestFrames = frames
      message.push(fromWorker.FRAMES, connection, number, start, bytes.length)
      slab.live++
      this.#postSoon()
    }
    this.#end = slab.used
  }

  /** Releases runs of a slab that the socket thread has read. */
  free(number: number, runs: number): void {
    const slab = this.#slabs.at(number)
    slab.live -= runs
    if (slab.live === 0) this.#slabs.emptied(slab)
  }

  /** Reports that as many of a connection's writes have been flushed as the socket thread waits for. */
  writesFlushed(connection: number): void {
    this.#add(fromWorker.FLUSHED, connection)
  }

  #postSoon(): void {
    if (this.#posting) return
    this.#posting = true
    setImmediate(this.post)
  }

  readonly post = (): void => {
    this.#posting = false
    if (this.#message.length === 0) return
    const message = this.#message
    const transfer = this.#transfer
    this.#message = []
    this.#transfer = []
    this.#end = NONE
    this.#send(message, transfer)
  }
}
