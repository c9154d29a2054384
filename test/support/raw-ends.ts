/** Both ends of a bridge, as sockets that write and read bytes chosen by the test. */
import { connect, createServer, type Server, type Socket } from "node:net"
import { onTestFinished } from "vitest"
import { asOthersThanLibzmq, greeting } from "./zmtp.js"

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

  /** Sends the beginning of what is written later, and leaves it out there. */
  sendAhead(start: Uint8Array): void {
    const { socket } = this
    const { write, end } = socket
    let left = start.length
    const rest = (bytes: Uint8Array): Uint8Array => {
      const ahead = Math.min(left, bytes.length)
      left -= ahead
      return bytes.subarray(ahead)
    }
    write.call(socket, start)
    socket.write = ((bytes: Uint8Array, ...more: []) =>
      write.call(socket, rest(bytes), ...more)) as Socket["write"]
    socket.end = ((bytes: Uint8Array = new Uint8Array(), ...more: []) =>
      end.call(socket, rest(bytes), ...more)) as Socket["end"]
  }

  get received(): Buffer {
    return Buffer.concat(this.#chunks)
  }

  get receivedBytes(): number {
    return this.#chunks.reduce((sum, { length }) => sum + length, 0)
  }
}

/** The signature of a peer that is not libzmq. */
export const SIGNATURE: Uint8Array = asOthersThanLibzmq(greeting()).subarray(0, 10)

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

/**
 * Connects to a bridge, and sends the signature of a greeting, for which it dials. What is written later
 * has to begin with a greeting, too.
 */
export async function rawZmtpClient(endpoint: string): Promise<RawEnd> {
  const end = await rawClient(endpoint)
  end.sendAhead(SIGNATURE)
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

  /** All connections so far. */
  get accepted(): readonly RawEnd[] {
    return this.#accepted
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
