/** A PUB and its SUBs, for fan and bursts. */
import { setTimeout } from "node:timers/promises"

/** @typedef {import("./peers.mjs").Peer} Peer */

const PROBE = "70726f6265"
export const PROBE_BYTES = PROBE.length / 2

/**
 * Options that keep a publisher from dropping messages, by module. omq-tokio waits instead; pyomq
 * drops messages whatever `sndhwm` and `on_mute` are, so it cannot take part.
 * @type {Record<string, object>}
 */
export const UNLIMITED = {
  zeromq: { sendHighWaterMark: 0 },
  "zeromq-lz4": { sendHighWaterMark: 0 },
  "omq-tokio": {},
}

/** Publishes until all subscribers have received a message. @param {Record<"hub" | "spokes", Pick<Peer, "call">>} wheel */
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
