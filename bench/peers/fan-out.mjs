/** A PUB and its SUBs: what fan and bursts measure. */
import { setTimeout } from "node:timers/promises"

/** @typedef {import("./peers.mjs").Peer} Peer */

const PROBE = "70726f6265"
export const PROBE_BYTES = PROBE.length / 2

/**
 * Options that keep a publisher from dropping messages, by module. Those of omq-tokio
 * wait; those of pyomq drop, whatever `sndhwm` and `on_mute` say, so that they cannot take part.
 * @type {Record<string, object>}
 */
export const UNLIMITED = {
  zeromq: { sendHighWaterMark: 0 },
  "zeromq-lz4": { sendHighWaterMark: 0 },
  "omq-tokio": {},
}

/** Publishes until all subscribers have got something. @param {{ hub: Peer, spokes: Peer }} wheel */
export async function reachAll({ hub, spokes }) {
  let waiting = true
  const reached = spokes.call("reached").finally(() => {
    waiting = false
  })
  while (waiting) {
    await hub.call("sendOne", { parts: [PROBE] })
    await setTimeout(20)
  }
  await reached
}
