/** Passes on what is queued when the process is about to exit. The network may have no room for it. */
import { Chunk } from "../codec/chunk.js"
import type { Outbound } from "./outbound.js"

/**
 * Writes all queued messages to the connection.
 *
 * @throws Error of the encoder.
 */
export function writeOut(out: Outbound): void {
  out.shared?.seal()
  const { connection } = out
  if (connection) for (const item of out.queue.takeAll()) out.writeItem(connection, item)
}

/**
 * Returns the plain frames of all queued messages, for a connection of another thread.
 *
 * @throws Error of the encoder.
 */
export function takeFrames({ shared, queue }: Outbound): Uint8Array[] {
  shared?.seal()
  const frames: Uint8Array[] = []
  for (const item of queue.takeAll())
    if (item instanceof Chunk) frames.push(queue.encoder.common.plainFrames(item))
  return frames
}
