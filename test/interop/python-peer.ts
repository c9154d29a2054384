/** python_peer.py as an object. */
import { fileURLToPath } from "node:url"

import { Peer, type Setup as PeerSetup } from "./peer.js"
import { python } from "./python.js"

const PEER = fileURLToPath(new URL("python_peer.py", import.meta.url))

export interface Setup extends PeerSetup {
  /** pyomq, or pyzmq by its name in Python. */
  module: "pyomq" | "zmq"
  /** Makes it a PLAIN server for this user name and password. */
  plainAuth?: readonly [name: string, password: string]
}

export type PythonPeer = Peer
export const PythonPeer: { start(setup: Setup): Promise<Peer> } = {
  start: (setup) => Peer.start([python(), PEER], setup),
}
