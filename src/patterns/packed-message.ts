import { framesLength, writeFrames } from "../codec/frames.js"
import { FrameReader } from "../zmtp/frame-reader.js"
import type { Message } from "./message.js"

/**
 * A received message as its frames, which take little more memory than its content. Its parts would
 * take 200 bytes each.
 */
export class PackedMessage {
  readonly length: number
  readonly #frames: Buffer

  constructor(message: readonly Buffer[]) {
    this.length = message.length
    this.#frames = Buffer.allocUnsafeSlow(framesLength(message))
    writeFrames(this.#frames, 0, message)
  }

  unpacked(): Message {
    const message: Message = []
    const frame = (_flags: number, body: Buffer) => message.push(body) > 0
    new FrameReader().read(this.#frames, 0, { head() {}, frame })
    return message
  }
}

export type QueuedMessage = Message | PackedMessage

export const unpacked = (queued: QueuedMessage): Message =>
  queued instanceof PackedMessage ? queued.unpacked() : queued
