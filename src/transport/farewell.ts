import type { Socket } from "node:net"
import { setTimeout } from "../base/runtime.js"

/** Milliseconds that a peer has to close its side after everything was sent. `linger` is over then. */
const FAREWELL_MS = 1000

/**
 * Milliseconds without a byte from a peer after which the process may end before the peer has closed its
 * side. The system then sends what the peer has not read yet, unless the peer sends something: the
 * answer is a reset, which can lose those bytes. libzmq takes that risk with every peer.
 */
export const QUIET_MS = 50

/** Destroys a socket whose peer does not close its side in time. */
export function destroyLater(socket: Socket): NodeJS.Timeout {
  return setTimeout(destroy, FAREWELL_MS, socket).unref()
}

function destroy(socket: Socket): void {
  socket.destroy()
}
