/** The report of the scale benchmark. */
import { digits } from "../lib/format.mjs"
import { Run } from "../lib/run.mjs"
import { mediansOf, runsOfEach } from "./tables.mjs"

/** CPU time of the hub for each message that one of its peers receives or sends. */
export const DELIVERY_CPU = "CPU of the hub per delivery"
/** Resident memory of the hub for each connection after messages have flowed, and the part in JavaScript's heap. */
export const MEMORY = "memory of the hub per connection"
export const HEAP = "heap of the hub per connection"

/** @type {import("./tables.mjs").Report} */
export const scale = {
  introduction: (measurements) =>
    "A PUB with the given number of SUBs, and a PULL with as many PUSHes, on the loopback interface; 200 messages of " +
    "64 B in each turn of the sender's event loop. " +
    "A delivery is one message at one peer. Memory is that of the socket's process for one more connection, after " +
    "messages have flowed over it and garbage was collected, as resident memory and as part of JavaScript's heap. " +
    `Medians of ${runsOfEach(measurements)} runs, in new processes each time.`,

  tables(measurements) {
    const table = mediansOf(new Run(measurements))
    return [
      table("CPU of the PUB or PULL, µs per delivery", DELIVERY_CPU, digits),
      table("Memory of the PUB or PULL, KiB per connection", MEMORY, digits),
      table("… of which JavaScript's heap, KiB", HEAP, digits),
    ].filter(({ rows }) => rows.length > 1)
  },

  plots: () => [],
}
