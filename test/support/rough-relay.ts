/** A TCP relay that splits, delays and ends connections. */
import { once } from "node:events"
import { createServer, type Server, type Socket } from "node:net"
import { onTestFinished } from "vitest"
import { ownHost } from "./own-host.mjs"
import { dial } from "./raw-peer.js"
import { sleep } from "./sleep.js"

/** The treatment of one direction of a connection. */
export interface Treatment {
  /** Number of bytes in this direction after which both are ended. */
  cutAfterBytes?: number
  /** Number of bytes at the beginning that are passed on one by one. */
  dribbleBytes?: number
  /** Returns the maximum size of the next piece. */
  pieceBytes?: () => number
  /** Returns the maximum delay of the next chunk, in milliseconds. */
  delayMs?: () => number
}

export type Treat = (connection: number) => { there: Treatment; back: Treatment }

export const kindly: Treat = () => ({ there: {}, back: {} })

export class Relay {
  /** Number of connections so far. */
  connections = 0
  treat: Treat
  readonly #server: Server
  readonly #target: string
  readonly #sockets = new Set<Socket>()

  /** Opens a relay to an endpoint of this machine, until the test ends. */
  static async open(target: string, treat: Treat): Promise<Relay> {
    const relay = new Relay(target, treat)
    onTestFinished(() => relay.#close())
    await once(relay.#server.listen(0, ownHost), "listening")
    return relay
  }

  private constructor(target: string, treat: Treat) {
    this.#target = target
    this.treat = treat
    this.#server = createServer((client) => this.#join(client))
  }

  /** Where it listens, without a scheme. */
  get address(): string {
    const { port } = this.#server.address() as { port: number }
    return `${ownHost}:${port}`
  }

  /** Ends all connections. New ones are accepted. */
  cut(): void {
    for (const socket of this.#sockets) socket.destroy()
  }

  #join(client: Socket): void {
    const server = dial(this.#target)
    const cut = () => {
      client.destroy()
      server.destroy()
    }
    for (const socket of [client, server]) {
      this.#sockets.add(socket)
      socket.setNoDelay()
      socket.on("error", () => {}) // "close" follows
      socket.on("close", () => {
        this.#sockets.delete(socket)
        cut()
      })
    }
    const { there, back } = this.treat(this.connections++)
    void forward(client, server, there, cut)
    void forward(server, client, back, cut)
  }

  #close(): void {
    this.#server.close()
    this.cut()
  }
}

async function forward(from: Socket, to: Socket, how: Treatment, cut: () => void): Promise<void> {
  const { cutAfterBytes = Number.POSITIVE_INFINITY, dribbleBytes = 0, pieceBytes, delayMs } = how
  let passed = 0
  try {
    for await (const chunk of from as AsyncIterable<Buffer>) {
      for (let at = 0; at < chunk.length; ) {
        if (delayMs) await sleep(delayMs())
        const most = Math.min(
          chunk.length - at,
          cutAfterBytes - passed,
          pieceBytes?.() ?? Number.POSITIVE_INFINITY,
        )
        const length = passed < dribbleBytes ? Math.min(1, most) : most
        const flushed = new Promise((resolve) => to.write(chunk.subarray(at, at + length), resolve))
        if (length > 0) await flushed
        at += length
        passed += length
        if (passed >= cutAfterBytes) return cut()
      }
    }
  } catch {
    // Connections may break.
  }
  to.end()
}
