/**
 * Yields the messages that a socket receives. Once `stopping` is aborted, it goes on with those that
 * are still on their way, and ends when no peer is connected and nothing is left.
 */
export async function* messagesOf(socket, stopping) {
  socket.receiveTimeout = 200
  const isAlone = () => stopping.aborted && socket.lz4.connections.length === 0
  for (;;) {
    const wasAlone = isAlone()
    const message = await socket.receive().catch(nothingIfTimedOut)
    if (message) yield message
    // A peer may have come and gone meanwhile, and left messages.
    else if (wasAlone && isAlone()) return
  }
}

function nothingIfTimedOut(error) {
  if (error.code !== "EAGAIN") throw error
}
