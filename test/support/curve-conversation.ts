/** A connection with CURVE as a capture has it, and the key log that opens it. */
import { Sealer } from "../../src/curve/sealer.js"
import type { HandshakeSettings } from "../../src/zmtp/mechanism.js"
import { Session } from "../../src/zmtp/session.js"
import { curve, curveSettings, pair } from "./curve.js"
import { concat } from "./wire.js"

type Side = "client" | "server"

export interface CurveConversation {
  /** The handshake: what each side sends. */
  said: [Side, Uint8Array][]
  /** The line of the key log. */
  log: string
  /** Seal frames of a side, each as a MESSAGE command. */
  seal: Record<Side, (...frames: Uint8Array[]) => Uint8Array>
}

/** @param curveServer the side of TCP that is the server of CURVE. */
export function curveConversation(
  curveServer: Side = "server",
  settings: Partial<HandshakeSettings> = {},
): CurveConversation {
  const serverKeys = pair(1)
  const said: [Side, Uint8Array][] = []
  const sent: Record<Side, Uint8Array[]> = { client: [], server: [] }
  const session = (side: Side): Session => {
    const keys =
      side === curveServer
        ? { isServer: true, ...serverKeys }
        : { ...pair(2), serverKey: serverKeys.publicKey }
    const made = new Session(curveSettings(keys, settings), {
      send: (bytes) => sent[side].push(bytes.slice()),
      onEvent: (event) => {
        if (event.type === "authenticate") made.authenticated(200)
        else if (event.type === "failed") throw event.error
      },
      message: () => true,
      command: () => true,
    })
    made.start()
    return made
  }
  const sessions = { client: session("client"), server: session("server") }
  for (let isDone = false; !isDone; ) {
    isDone = true
    for (const [from, to] of [
      ["client", sessions.server],
      ["server", sessions.client],
    ] as const) {
      const bytes = concat(...sent[from].splice(0))
      if (bytes.length === 0) continue
      isDone = false
      said.push([from, bytes])
      let at = to.isGreeted ? 0 : to.greet(bytes)
      while (!to.isReady && at < bytes.length) at = to.receive(bytes, at)
    }
  }
  const sealing = (side: Side) => {
    const { key, isServer, sent: counter } = sessions[side].secured!
    const sealer = new Sealer(curve, { key, ofServer: isServer, counter })
    return (...frames: Uint8Array[]) => sealer.seal(concat(...frames))
  }
  const { client, key } = sessions.client.secured!
  return {
    said,
    log: `CURVE ${Buffer.from(client).toString("hex")} ${Buffer.from(key).toString("hex")}\n`,
    seal: { client: sealing("client"), server: sealing("server") },
  }
}
