/** Both ends of a bridge, as sockets that write and read bytes chosen by the test. */
import { connect, createServer, type Server, type Socket } from "node:net"
import { onTestFinished } from "vitest"

/** A socket, the bytes that it received, and its end. */
export class RawEnd {
  readonly socket: Socket
  readonly #chunks: Buffer[] = []
  /** Whether the socket ended, with or without an error. */
  ended = false

  constructor(socket: Socket) {
    this.socket = socket
    socket.on("data", (chunk) => this.#chunks.push(chunk))
    socket.on("end", () => {
      this.ended = true
    })
    socket.on("error", () => {}) // "close" follows
    socket.on("close", () => {
      this.ended = true
    })
    onTestFinished(() => {
      socket.destroy()
    })
  }

  get received(): Buffer {
    return Buffer.concat(this.#chunks)
  }

  get receivedBytes(): number {
    return this.#chunks.reduce((sum, { length }) => sum + length, 0)
  }
}

/** Returns `tcp://…`, `lz4+tcp://…` or `ipc://…` as node:net takes it. */
function address(endpoint: string): { path: string } | { host: string; port: number } {
  const rest = endpoint.slice(endpoint.indexOf("://") + 3)
  if (endpoint.startsWith("ipc:")) return { path: rest.replace(/^@/, "\0") }
  const colon = rest.lastIndexOf(":")
  return { host: rest.slice(0, colon).replace(/[[\]]/g, ""), port: Number(rest.slice(colon + 1)) }
}

/** Connects. Each direction can be closed separately. */
export async function rawClient(endpoint: string): Promise<RawEnd> {
  const socket = connect({ ...address(endpoint), allowHalfOpen: true })
  const end = new RawEnd(socket)
  await new Promise((resolve) => socket.once("connect", resolve))
  return end
}

export class RawServer {
  readonly #server: Server
  readonly #accepted: RawEnd[] = []
  #taken = 0
  #changed = () => {}

  /** Listens at an endpoint, or at a port that the system chooses. */
  static async start(endpoint = "tcp://127.0.0.1:0"): Promise<RawServer> {
    const server = new RawServer()
    await new Promise<void>((resolve) => server.#server.listen(address(endpoint), resolve))
    return server
  }

  private constructor() {
    this.#server = createServer({ allowHalfOpen: true }, (socket) => {
      this.#accepted.push(new RawEnd(socket))
      this.#changed()
    })
    onTestFinished(() => {
      this.#server.close()
    })
  }

  get port(): number {
    return (this.#server.address() as { port: number }).port
  }

  /** Returns the next connection. */
  async accept(): Promise<RawEnd> {
    while (this.#taken === this.#accepted.length)
      await new Promise<void>((resolve) => {
        this.#changed = resolve
      })
    return this.#accepted[this.#taken++] as RawEnd
  }
}
