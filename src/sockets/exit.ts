/**
 * A script that sends and ends has delivered, over tcp:// as well as here. libzmq
 * flushes at the end of the process, when the links are gone; so before that its
 * sockets are closed, and the links drained for as long as their `linger` allows.
 */
import type { Socket } from "zeromq"
import { holdUntilReleased } from "../transport/thread-pool.js"
import type { Endpoints } from "./endpoints.js"

const watched = new Set<WeakRef<Socket>>()
let listening = false
/** Whether other handlers of "beforeExit" had their turn to send something. */
let announced = false

// A socket that is dropped without close() is closed by zeromq.js.
const dropped = new FinalizationRegistry<{ ref: WeakRef<Socket>; endpoints: Endpoints }>(
  ({ ref, endpoints }) => {
    watched.delete(ref)
    endpoints.releaseAll(-1)
  },
)

/** Sees to it that the endpoints of a socket end before the process does, or with the socket. */
export function watch(socket: Socket, endpoints: Endpoints): void {
  const ref = new WeakRef(socket)
  watched.add(ref)
  dropped.register(socket, { ref, endpoints })
  if (listening) return
  listening = true
  process.on("beforeExit", closeAll)
}

function closeAll(): void {
  const open: Socket[] = []
  for (const ref of watched) {
    const socket = ref.deref()
    if (!socket || socket.closed) watched.delete(ref)
    else open.push(socket)
  }
  if (open.length > 0 && !announced) {
    announced = true
    setImmediate(() => {}) // "beforeExit" comes again
    return
  }
  announced = false
  for (const socket of open) socket.close()
  holdUntilReleased()
}
