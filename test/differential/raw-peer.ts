/** Peers that write ZMTP bytes directly, over `tcp://` and `lz4+tcp://`. */
import { once } from "node:events"
import { connect, createServer, type Server, type Socket } from "node:net"

import {
  COMMAND,
  commandName,
  frame,
  GREETING_BYTES,
  greeting,
  MORE,
  parseStream,
} from "../support/zmtp.js"
import { ownHost } from "./hosts.js"
import type { Scheme } from "./scenario.js"

export interface HandshakeOptions {
  socketType?: string
  routingId?: string
  mechanism?: string
  major?: number
  minor?: number
  asServer?: boolean
}

/** What announces a format, at the end of metadata. */
const ANNOUNCEMENTS = ["X-Lz4-Revision", "X-Zstd-Revision"].map((name) => property(name, "2"))

/** The sentinel of uncompressed parts. */
const PLAIN = Buffer.alloc(4)

export class RawPeer {
  readonly socket: Socket
  readonly #scheme: Scheme
  #received: Buffer = Buffer.alloc(0)
  #closed = false

  constructor(socket: Socket, scheme: Scheme) {
    this.socket = socket
    this.#scheme = scheme
    socket.on("data", (chunk) => {
      this.#received = Buffer.concat([this.#received, chunk])
    })
    socket.on("error", () => {}) // "close" follows
    socket.on("close", () => {
      this.#closed = true
    })
  }

  static async connect(endpoint: string, scheme: Scheme): Promise<RawPeer> {
    const { hostname, port } = new URL(endpoint)
    const socket = connect(Number(port), hostname)
    const peer = new RawPeer(socket, scheme)
    await once(socket, "connect")
    return peer
  }

  get closed(): boolean {
    return this.#closed
  }

  get received(): Buffer {
    return this.#received
  }

  /** The received frames: `message TEXT|TEXT` and `command NAME`. */
  get frames(): string[] {
    let text = ""
    const lines: string[] = []
    for (const one of parseStream(this.#received).frames) {
      if (one.flags & COMMAND) {
        lines.push(`command ${commandName(one)}`)
        continue
      }
      text += this.bare(one.body).toString("latin1")
      if (one.flags & MORE) {
        text += "|"
        continue
      }
      lines.push(`message ${text}`)
      text = ""
    }
    return lines
  }

  get greeting(): Buffer {
    return this.#received.subarray(0, GREETING_BYTES)
  }

  /** Returns the bodies of commands with this name. */
  commands(name: string): Buffer[] {
    return parseStream(this.#received)
      .frames.filter((one) => one.flags & COMMAND && commandName(one) === name)
      .map(({ body }) => Buffer.from(body.subarray(1 + name.length)))
  }

  /** Returns the metadata of READY or INITIATE, without what announces formats (RFC.md section 3.9). */
  metadata(command: "READY" | "INITIATE"): Buffer | undefined {
    const [metadata] = this.commands(command)
    if (!metadata) return metadata
    return this.withoutRevision(metadata)
  }

  /** Removes the properties that announce formats, one of which has to be there, from metadata. */
  withoutRevision(metadata: Buffer): Buffer {
    let rest = metadata
    for (;;) {
      const last = ANNOUNCEMENTS.find((one) => rest.subarray(-one.length).equals(one))
      if (!last) break
      rest = rest.subarray(0, -last.length)
    }
    if (rest.length < metadata.length || this.#scheme === "tcp") return rest
    throw new Error("metadata does not announce a revision")
  }

  /** Returns the content of a part in the form of this scheme. */
  bare(part: Uint8Array): Buffer {
    return Buffer.from(this.#scheme === "tcp" ? part : part.subarray(PLAIN.length))
  }

  /** Returns a part in the form of this scheme. */
  formed(content: Uint8Array | string): Buffer {
    const plain = Buffer.from(content as string)
    return this.#scheme === "tcp" ? plain : Buffer.concat([PLAIN, plain])
  }

  /** Returns the data of the MESSAGE commands of CURVE, which libzmq sends as parts. */
  encrypted(): Buffer[] {
    return parseStream(this.#received)
      .frames.filter((one) => commandName(one) === "MESSAGE")
      .map(({ body }) => Buffer.from(body.subarray(8)))
  }

  write(bytes: Uint8Array): void {
    this.socket.write(bytes)
  }

  greet({
    mechanism = "NULL",
    major = 3,
    minor = 1,
    asServer = false,
  }: HandshakeOptions = {}): void {
    const bytes = greeting({ mechanism, major, minor })
    if (asServer) bytes[32] = 1
    this.write(bytes)
  }

  command(name: string, body: Uint8Array = Buffer.alloc(0), flags = COMMAND): void {
    const text = Buffer.from(name, "latin1")
    this.write(frame(Buffer.concat([Buffer.from([text.length]), text, body]), flags))
  }

  ready({ socketType = "DEALER", routingId }: HandshakeOptions = {}): void {
    const properties = [property("Socket-Type", socketType)]
    if (routingId !== undefined) properties.push(property("Identity", routingId))
    this.command("READY", Buffer.concat(properties))
  }

  /** Writes one message, with parts in the form of this scheme. */
  message(...parts: readonly (Uint8Array | string)[]): void {
    for (const [i, part] of parts.entries()) {
      this.write(frame(this.formed(part), i < parts.length - 1 ? MORE : 0))
    }
  }

  close(): void {
    this.socket.destroy()
  }
}

/** A listener whose connections are raw peers. */
export class RawListener {
  readonly #server: Server
  readonly #scheme: Scheme
  readonly peers: RawPeer[] = []

  private constructor(server: Server, scheme: Scheme) {
    this.#server = server
    this.#scheme = scheme
    server.on("connection", (socket) => this.peers.push(new RawPeer(socket, scheme)))
  }

  static async start(scheme: Scheme, port: number): Promise<RawListener> {
    const server = createServer()
    const listener = new RawListener(server, scheme)
    server.listen(port, ownHost)
    await once(server, "listening")
    return listener
  }

  get endpoint(): string {
    return `${this.#scheme}://${ownHost}:${(this.#server.address() as { port: number }).port}`
  }

  close(): void {
    this.#server.close()
    for (const peer of this.peers) peer.close()
  }
}

export function property(name: string, value: Uint8Array | string): Buffer {
  const head = Buffer.from(name, "latin1")
  const body = Buffer.from(value as string)
  const length = Buffer.alloc(4)
  length.writeUInt32BE(body.length)
  return Buffer.concat([Buffer.from([head.length]), head, length, body])
}
