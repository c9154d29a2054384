/** Writes to a socket by its file descriptor, without libuv. In Windows and Deno they have none. */
import { writevSync } from "node:fs"
import type { Socket } from "node:net"

interface InnerSocket {
  _handle?: { fd?: number; writeQueueSize?: number } | null
  _writableState: { writelen?: number }
}

/** Returns the descriptor of a socket; undefined if it has none, or if the bytes left are not known. */
export function descriptorOf(socket: Socket): number | undefined {
  const { _handle, _writableState } = socket as unknown as InnerSocket
  if (socket.destroyed || !_handle) return undefined
  const { fd, writeQueueSize } = _handle
  const isKnown = writeQueueSize !== undefined && _writableState.writelen !== undefined
  return isKnown && fd !== undefined && fd >= 0 ? fd : undefined
}

/**
 * Writes as much as the system takes at once, and returns the number of bytes; undefined if there is no
 * descriptor. Nobody looks at the buffers afterwards. libuv must have nothing left to write. An error
 * counts as 0 bytes: the next write by libuv has it, too.
 */
export function writeNow(socket: Socket, buffers: readonly Uint8Array[]): number | undefined {
  const descriptor = descriptorOf(socket)
  if (descriptor === undefined) return undefined
  try {
    const taken = writevSync(descriptor, buffers)
    // Programs under test may have a node:fs that does nothing.
    return taken > 0 ? taken : 0
  } catch {
    return 0
  }
}
