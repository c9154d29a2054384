/** The simulated system takes bytes at once, or has no descriptors, depending on the scenario. */
import type { Socket } from "../../network.js"

const { limits } = __simulation

export { descriptorOf } from "../../../../src/transport/by-descriptor.js"

export function writeNow(socket: Socket, buffers: readonly Uint8Array[]): number | undefined {
  return limits.takesNow ? socket._handle?.writeNow(Buffer.concat(buffers)) : undefined
}
