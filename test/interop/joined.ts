/** Connects one of our sockets with a peer's, through a tap. */
import type { EndpointOptions } from "zeromq-lz4"

import { rustPeerPath } from "../../scripts/lib/rust.mjs"
import { type AnySocket, use } from "../support/sockets.js"
import { type PeerName, record, type Side } from "./matrix.js"
import { Peer, type Setup } from "./peer.js"
import { PythonPeer } from "./python-peer.js"
import { type Sent, Tap } from "./tap.js"

export const startPeer: Record<PeerName, (setup: Setup) => Promise<Peer>> = {
  "omq-tokio": (setup) => Peer.start([rustPeerPath("tests")], setup),
  pyomq: (setup) => PythonPeer.start({ module: "pyomq", ...setup }),
}

export interface Joining {
  with: PeerName
  /** The side that binds. */
  binds: Side
  /** "lz4+tcp" by default. */
  scheme?: "lz4+tcp" | "zstd+tcp"
  ours?: EndpointOptions
  theirs: Omit<Setup, "bind" | "connect">
}

export class Joined implements AsyncDisposable {
  readonly peer: Peer
  readonly #tap: Tap
  readonly #joining: Joining

  /** Fails the test if a rule of the format is broken. */
  static async make(socket: AnySocket, joining: Joining): Promise<Joined> {
    use(socket).lz4.on("protocolError", ({ error }) => {
      throw error
    })
    const { binds, scheme = "lz4+tcp", ours, theirs } = joining
    const start = startPeer[joining.with]
    if (binds === "ours") {
      await socket.bind(`${scheme}://127.0.0.1:*`, ours)
      const tap = await Tap.before(socket.lastEndpoint as string)
      return new Joined(joining, tap, await start({ ...theirs, connect: tap.endpoint }))
    }
    const peer = await start({ ...theirs, bind: `${scheme}://127.0.0.1:0` })
    const tap = await Tap.before(peer.endpoint)
    socket.connect(tap.endpoint, ours)
    return new Joined(joining, tap, peer)
  }

  private constructor(joining: Joining, tap: Tap, peer: Peer) {
    this.#joining = joining
    this.#tap = tap
    this.peer = peer
  }

  /** Records what one side has sent, and the other has received correctly. */
  understood(from: Side): Sent {
    const { ours, theirs, binds } = this.#joining
    const { dictionary } = (from === "ours" ? ours : theirs) ?? {}
    const sent = this.#tap.sentBy(from === binds ? "bound" : "connecting", dictionary)
    record(this.#joining.with, this.#joining.scheme ?? "lz4+tcp", from, sent)
    return sent
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.peer[Symbol.asyncDispose]()
    this.#tap[Symbol.dispose]()
  }
}
