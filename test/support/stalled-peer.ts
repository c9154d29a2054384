import { once } from "node:events"
import { createServer, type Socket } from "node:net"
import { ownHost } from "./own-host.mjs"
import { use } from "./sockets.js"
import { lz4 } from "./transports.js"
import { handshake } from "./zmtp.js"

/** Starts a PULL that completes the handshake and reads nothing until `read` is called. It ends with the test. */
export async function stalledPeer(): Promise<{ endpoint: string; read(): void }> {
  const peers: Socket[] = []
  let isReading = false
  const server = createServer((peer) => {
    peers.push(peer)
    peer.on("error", () => {})
    peer.write(handshake("PULL"))
    use({ close: () => peer.destroy() })
    if (isReading) peer.resume()
    else peer.pause()
  }).listen(0, ownHost)
  await once(server, "listening")
  use(server)
  const { port } = server.address() as { port: number }
  const read = () => {
    isReading = true
    for (const peer of peers) peer.resume()
  }
  return { endpoint: `${lz4.scheme}${ownHost}:${port}`, read }
}
