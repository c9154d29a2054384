/** The report of the services benchmark. */
import { digits } from "../lib/format.mjs"
import { Run } from "../lib/run.mjs"
import { shortNumber } from "../lib/svg.mjs"
import { mediansOf, runsOfEach } from "./tables.mjs"

export const ROUTER = "ROUTER"
export const REP = "REP"
export const HTTP = "node:http"

export const MEDIAN = "median"
export const PERCENTILE = "99th percentile"
/** Messages of the floods that the service receives. */
export const FLOOD = "flood"
/** CPU time for each answer. */
export const SERVICE_CPU = "CPU of the service"

/** @type {import("./tables.mjs").Report} */
export const services = {
  introduction: (measurements) =>
    "A REQ asks a ROUTER one small question at a time, while DEALERs in another process send it JSON as fast as they can; " +
    "a REP and an HTTP server in the process of the ROUTER are asked in the same way. With an “own flood” the DEALER is in the " +
    "process of the REQ. “Clients” are REQs in one process that ask the ROUTER one question each at a time, with JSON of the " +
    `given size there and back. On the loopback interface; medians of ${runsOfEach(measurements)} runs.`,

  tables(measurements) {
    const table = mediansOf(new Run(measurements))
    return [
      ...[ROUTER, REP, HTTP].flatMap((who) =>
        [MEDIAN, PERCENTILE].map((quantity) =>
          table(`An answer of ${who}, ${quantity}, ms`, `${who}, ${quantity}`, digits),
        ),
      ),
      table("Messages of the floods per second", FLOOD, shortNumber),
      table("Many clients: answers per second", "answers", shortNumber),
      ...[MEDIAN, PERCENTILE].map((quantity) =>
        table(`Many clients: an answer, ${quantity}, ms`, quantity, digits),
      ),
      table("Many clients: CPU of the service, µs per answer", SERVICE_CPU, digits),
    ].filter(({ rows }) => rows.length > 1)
  },

  plots: () => [],
}
