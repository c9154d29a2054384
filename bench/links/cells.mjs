/** The cells of the benchmarks over links: what is sent, over each of them. */
import { sizeName } from "../lib/format.mjs"
import { payloadMessages } from "../lib/messages.mjs"
import { pushPull } from "../peers/push-pull.mjs"
import { createNetwork, LINKS } from "./network.mjs"

/** @typedef {import("../peers/peers.mjs").End} End */

/** @type {readonly { payload: "lorem" | "json", size: number }[]} */
const MESSAGES = [
  { payload: "lorem", size: 128 * 1024 },
  { payload: "json", size: 1024 },
  { payload: "json", size: 128 * 1024 },
]

/**
 * @param {number} seconds how long a contestant sends.
 * @param {(kind: "lorem" | "json", size: number) => Record<string, End>} contestants with the same options at both ends.
 */
export const linkCells = (seconds, contestants) =>
  LINKS.flatMap((link) => {
    /** The network that all cells of the link share. @type {ReturnType<typeof createNetwork> | undefined} */
    let network
    return MESSAGES.map(({ payload: kind, size }) => {
      const both = contestants(kind, size)
      return {
        name: `${link.name}, ${kind} ${sizeName(size)}`,
        parameters: { link: link.name, payload: kind, size, seconds },
        contestants: Object.keys(both),
        prepare(/** @type {string} */ name) {
          network ??= createNetwork(link)
          const [sender, receiver] = [both[name], both[name]]
          const messages = payloadMessages(kind, size)
          return pushPull({ sender, receiver, messages, seconds, place: network })
        },
      }
    })
  })
