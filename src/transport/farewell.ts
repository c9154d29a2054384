import type { Socket } from "node:net"
import { setTimeout } from "../codec/runtime.js"

/** Milliseconds that a peer has to close its side after everything was sent. `linger` is over then. */
const FAREWELL_MS = 1000

/** Destroys a socket whose peer does not close its side in time. */
export function destroyLater(socket: Socket): NodeJS.Timeout {
  return setTimeout(destroy, FAREWELL_MS, socket).unref()
}

function destroy(socket: Socket): void {
  socket.destroy()
}
