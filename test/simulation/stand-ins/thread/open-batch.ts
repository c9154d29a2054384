/** Open batches that are counted. */
import { OpenBatch as RealOpenBatch } from "../../../../src/thread/open-batch.js"

export { POLL_MS, SeenBatch } from "../../../../src/thread/open-batch.js"

export const OpenBatch = {
  open(): RealOpenBatch | undefined {
    const batch = RealOpenBatch.open()
    if (!batch) return undefined
    __simulation.openBatches++
    const close = batch.close.bind(batch)
    batch.close = (bytes) => {
      __simulation.openBatches--
      close(bytes)
    }
    return batch
  },
}
