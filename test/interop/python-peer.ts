/** Controls python_peer.py. */
import { fileURLToPath } from "node:url"

import { Peer, type Setup as PeerSetup } from "./peer.js"
import { python } from "./python.js"

const PEER = fileURLToPath(new URL("python_peer.py", import.meta.url))

export interface Setup extends PeerSetup {
  /** "zmq" is pyzmq. */
  module: "pyomq" | "zmq"
  /** User name and password that make the socket a PLAIN server. */
  plainAuth?: readonly [name: string, password: string]
}

export type PythonPeer = Peer
export const PythonPeer: { start(setup: Setup): Promise<Peer> } = {
  start: (setup) => Peer.start([python(), PEER], setup),
}
