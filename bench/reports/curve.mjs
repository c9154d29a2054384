/** The report of the CURVE benchmark. */
import { digits, withSpread } from "../lib/format.mjs"
import { Run } from "../lib/run.mjs"
import { shortNumber } from "../lib/svg.mjs"
import { OURS, TCP } from "../peers/ends.mjs"
import { HUB_CPU, SPOKES_CPU } from "./fan.mjs"
import { byImplementation, runsOfEach, withoutEmptyRows } from "./tables.mjs"

export const NOT_ENCRYPTED = `${OURS}, without CURVE`
export const ROUND_TRIP = "round trip of REQ and REP"

/** @type {import("./tables.mjs").Report} */
export const curve = {
  introduction: (measurements) =>
    `${TCP} and ${OURS} with CURVE: PUSH to PULL, PUB to 64 SUBs and round trips of 64 B between two processes on the ` +
    `loopback interface, with default options, with which ${OURS} compresses nothing under CURVE; and PUSH to PULL over a ` +
    `link of 100 Mbit/s with the adaptive level, both ends alike. Median (minimum–maximum) of ${runsOfEach(measurements)} runs. A published ` +
    "message counts once for the sender's CPU, and once for each receiver.",

  tables(measurements) {
    const run = new Run(measurements)
    const table = (
      /** @type {string} */ title,
      /** @type {string} */ quantity,
      /** @type {(value: number) => string} */ format,
    ) =>
      withoutEmptyRows(
        byImplementation(run, title, (cell, who) => {
          const measurement = run.get(`${cell}: ${quantity}`, who)
          return measurement && withSpread(measurement, format)
        }),
      )
    return [
      table("Messages delivered per second", "messages", shortNumber),
      table("Round trip, µs", "median", digits),
      table("CPU of the sender, seconds per GB", "CPU of the sender", digits),
      table("CPU of the receiver, seconds per GB", "CPU of the receiver", digits),
      table("CPU of the publisher, µs per message", HUB_CPU, digits),
      table("CPU of the subscribers, µs per message", SPOKES_CPU, digits),
    ].filter(({ rows }) => rows.length > 1)
  },

  plots: () => [],
}
