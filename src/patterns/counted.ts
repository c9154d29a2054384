/**
 * Returns the number of messages that count against a high-water mark. As in libzmq, those that have
 * left the queue count until half of the mark has.
 */
export function counted(highWaterMark: number, queued: number, gone: number): number {
  return queued + (gone % ((highWaterMark + 1) >> 1))
}
