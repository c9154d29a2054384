/** The report of the bursts benchmark. */
import { digits } from "../lib/format.mjs"
import { Run } from "../lib/run.mjs"
import { shortNumber } from "../lib/svg.mjs"
import { mediansOf, runsOfEach } from "./tables.mjs"

/** CPU time for each message sent, whatever the number of receivers. */
export const SENDER_CPU = "CPU of the sender"
export const ROUND_TRIP = "round trip of REQ and REP"

/** @type {import("./tables.mjs").Report} */
export const bursts = {
  introduction: (measurements) =>
    "Messages of 64 B, one or 20 in each turn of the event loop (`await socket.send(message); await setImmediate()`), " +
    "JSON of 16 KiB sent as fast as possible, and round trips of 64 B. Two processes on the loopback interface; " +
    `medians of ${runsOfEach(measurements)} runs.`,

  tables(measurements) {
    const table = mediansOf(new Run(measurements))
    return [
      table("Messages delivered per second", "messages", shortNumber),
      table("CPU of the sender, µs per message sent", SENDER_CPU, digits),
      table("Round trip, µs", "median", digits),
    ].filter(({ rows }) => rows.length > 1)
  },

  plots: () => [],
}
