/** Blocks sockets while an endpoint is bound or unbound, as zeromq.js does. */
import type { Socket } from "zeromq"
import { zmqError } from "../transport/zmq-error.js"
import type { SocketState } from "./state.js"

/** @throws Error with code EBUSY while the socket is blocked. */
export function checkFree(state: SocketState): void {
  if (state.blocked !== undefined)
    throw zmqError("EBUSY", undefined, "Socket is blocked by a bind or unbind operation")
}

/**
 * Blocks the socket during `work`. If that succeeds, calls `finish` when the socket is free again. As
 * in zeromq.js, close() takes effect afterwards.
 */
export async function blocking(
  socket: Socket,
  state: SocketState,
  work: () => Promise<void>,
  finish: () => void = () => {},
): Promise<void> {
  state.blocked = "own"
  try {
    try {
      await work()
    } finally {
      state.blocked = undefined
    }
    finish()
  } finally {
    if (state.closing) socket.close()
  }
}

/** Records that zeromq.js blocks the socket: no core is created meanwhile, since that reads options. */
export function blockingNative(
  state: SocketState,
  work: Promise<void>,
  done: () => void,
): Promise<void> {
  state.blocked = "native"
  const over = () => {
    state.blocked = undefined
  }
  work.then(() => {
    over()
    done()
  }, over)
  return work
}
