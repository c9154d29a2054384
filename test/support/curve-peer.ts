/** A peer with CURVE that can also send what a good one would not. */
import type { Socket } from "node:net"
import { expect } from "vitest"
import { Opener } from "../../src/curve/opener.js"
import { Sealer } from "../../src/curve/sealer.js"
import type { HandshakeSettings } from "../../src/zmtp/mechanism.js"
import { Session } from "../../src/zmtp/session.js"
import { curve } from "./curve.js"

/** A connection that speaks CURVE with nothing but a session, a sealer and an opener. */
export class CurvePeer {
  readonly told: string[] = []
  readonly messages: Buffer[][] = []
  /** The greeting and the commands that the session has sent. */
  readonly sent: Uint8Array[] = []
  readonly #session: Session
  readonly #socket: Socket
  #sealer: Sealer | undefined
  #opener: Opener | undefined
  #changed: () => void = () => {}

  /** @param sends what the session sends of the greeting and the commands. */
  constructor(socket: Socket, settings: HandshakeSettings, sends = Number.POSITIVE_INFINITY) {
    this.#socket = socket
    this.#session = new Session(settings, {
      send: (bytes) => {
        if (this.sent.push(bytes) <= sends) socket.write(bytes)
        this.#changed()
      },
      onEvent: (event) => {
        if (event.type === "authenticate") this.#session.authenticated(undefined)
        else if (event.type === "ready") this.#secure()
        this.#tell(
          event.type === "failed" ? `failed ${event.reason}: ${event.error.message}` : event.type,
        )
      },
      message: (parts) => {
        this.messages.push(parts as Buffer[])
        this.#changed()
        return true
      },
      command: (name) => {
        this.#tell(`command ${name}`)
        return true
      },
    })
    socket.on("data", (chunk) => this.#read(chunk))
    socket.on("error", () => {})
    socket.on("close", () => this.#tell("closed"))
    this.#session.start()
  }

  #tell(what: string): void {
    this.told.push(what)
    this.#changed()
  }

  #secure(): void {
    const { key, isServer, sent, received } = this.#session.secured ?? expect.fail("no keys")
    this.#sealer = this.sealerFrom(sent)
    const theirs = { key, ofServer: !isServer, counter: received }
    this.#opener = new Opener(curve, theirs, Number.POSITIVE_INFINITY)
  }

  #read(chunk: Uint8Array): void {
    const session = this.#session
    let at = session.isGreeted ? 0 : session.greet(chunk)
    if (!session.isReady) at += session.receive(chunk.subarray(at))
    if (!session.isReady) return
    this.#opener?.open(chunk.subarray(at), (frames) => {
      for (let read = 0; read < frames.length; ) read = session.receive(frames, read)
    })
  }

  /** Returns a sealer of this connection whose last counter was this one. */
  sealerFrom(counter: Uint8Array): Sealer {
    const { key, isServer } = this.#session.secured ?? expect.fail("no keys")
    return new Sealer(curve, { key, ofServer: isServer, counter })
  }

  seal(frames: Uint8Array): Uint8Array {
    return (this.#sealer as Sealer).seal(frames)
  }

  send(frames: Uint8Array): void {
    this.#socket.write(this.seal(frames))
  }

  /** Sends bytes as they are. */
  sendInTheClear(bytes: Uint8Array): void {
    this.#socket.write(bytes)
  }

  async until(isReached: (peer: this) => boolean): Promise<this> {
    while (!isReached(this))
      await new Promise<void>((resolve) => {
        this.#changed = resolve
      })
    return this
  }

  close(): void {
    this.#socket.destroy()
    this.#sealer?.close()
    this.#opener?.close()
  }
}

export const isReady = ({ told }: CurvePeer) => told.includes("ready")
export const isClosed = ({ told }: CurvePeer) => told.includes("closed")
