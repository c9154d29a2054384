/**
 * Returns the number of messages that count against a high-water mark. As in libzmq, messages that have
 * left the queue go on counting until half as many as the mark have left.
 */
export function counted(highWaterMark: number, queued: number, gone: number): number {
  return queued + (gone % ((highWaterMark + 1) >> 1))
}
