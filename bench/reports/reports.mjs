/** The reports of all benchmarks, in the order of bench/RESULTS.md. Those with tables only are here. */
import { digits, withSpread } from "../lib/format.mjs"
import { Run } from "../lib/run.mjs"
import { shortNumber } from "../lib/svg.mjs"
import { ONE_THREAD, OURS, TCP, TWO_THREADS } from "../peers/ends.mjs"
import { changes } from "./changes.mjs"
import { codec } from "./codec.mjs"
import { corpora } from "./corpora.mjs"
import { costs } from "./costs.mjs"
import { fan } from "./fan.mjs"
import { latency } from "./latency.mjs"
import { links } from "./links.mjs"
import { memory } from "./memory.mjs"
import * as quantities from "./quantities.mjs"
import { schemes } from "./schemes.mjs"
import { byName, quantityTables, runsOfEach } from "./tables.mjs"
import { throughput } from "./throughput.mjs"

const { MEDIAN, PERCENTILE } = quantities

/** @typedef {import("./tables.mjs").Report} Report */

/** @type {Report} */
const bursts = {
  introduction: (measurements) =>
    "Messages of 64 B, one or 20 in each turn of the event loop (`await socket.send(message); await setImmediate()`), " +
    "JSON of 16 KiB sent as fast as possible, and round trips of 64 B. Two processes on the loopback interface; " +
    `medians of ${runsOfEach(measurements)} runs.`,

  tables: (measurements) =>
    quantityTables(measurements, [
      ["Messages delivered per second", "messages", shortNumber],
      ["CPU of the sender, µs per message sent", quantities.SENDER_CPU, digits],
      ["Round trip, µs", MEDIAN, digits],
    ]),
}

/** @type {Report} */
const scale = {
  introduction: (measurements) =>
    "A PUB with the given number of SUBs, and a PULL with as many PUSHes, on the loopback interface; 200 messages of " +
    "64 B in each turn of the sender's event loop. " +
    "A delivery is one message at one peer. Memory is that of the socket's process for one more connection, after " +
    "messages have flowed over it and garbage was collected, as resident memory and as part of JavaScript's heap. " +
    `Medians of ${runsOfEach(measurements)} runs, in new processes each time.`,

  tables: (measurements) =>
    quantityTables(measurements, [
      ["CPU of the PUB or PULL, µs per delivery", quantities.DELIVERY_CPU, digits],
      ["Memory of the PUB or PULL, KiB per connection", quantities.CONNECTION_MEMORY, digits],
      ["… of which JavaScript's heap, KiB", quantities.CONNECTION_HEAP, digits],
    ]),
}

/** @type {Report} */
const services = {
  introduction: (measurements) =>
    "A REQ asks a ROUTER one small question at a time, while DEALERs in another process send it JSON as fast as they can; " +
    "a REP and an HTTP server in the process of the ROUTER are asked in the same way. With an “own flood” the DEALER is in the " +
    "process of the REQ. “Clients” are REQs in one process that ask the ROUTER one question each at a time, with JSON of the " +
    `given size there and back. On the loopback interface; medians of ${runsOfEach(measurements)} runs.`,

  tables: (measurements) =>
    quantityTables(measurements, [
      ...[quantities.ROUTER, quantities.REP, quantities.HTTP].flatMap((who) =>
        [MEDIAN, PERCENTILE].map(
          (quantity) =>
            /** @type {const} */ ([
              `An answer of ${who}, ${quantity}, ms`,
              `${who}, ${quantity}`,
              digits,
            ]),
        ),
      ),
      ["Messages of the floods per second", quantities.FLOOD, shortNumber],
      ["Many clients: answers per second", "answers", shortNumber],
      [`Many clients: an answer, ${MEDIAN}, ms`, MEDIAN, digits],
      [`Many clients: an answer, ${PERCENTILE}, ms`, PERCENTILE, digits],
      ["Many clients: CPU of the service, µs per answer", quantities.SERVICE_CPU, digits],
    ]),
}

/** @type {Report} */
const curve = {
  introduction: (measurements) =>
    `${TCP} and ${OURS} with CURVE: PUSH to PULL, PUB to 64 SUBs and round trips of 64 B between two processes on the ` +
    `loopback interface, with default options, with which ${OURS} compresses nothing under CURVE; and PUSH to PULL over a ` +
    `link of 100 Mbit/s with the adaptive level, both ends alike. Median (minimum–maximum) of ${runsOfEach(measurements)} runs. A published ` +
    "message counts once for the sender's CPU, and once for each receiver.",

  tables: (measurements) =>
    quantityTables(
      measurements,
      [
        ["Messages delivered per second", "messages", shortNumber],
        ["Round trip, µs", MEDIAN, digits],
        ["CPU of the sender, seconds per GB", "CPU of the sender", digits],
        ["CPU of the receiver, seconds per GB", "CPU of the receiver", digits],
        ["CPU of the publisher, µs per message", quantities.HUB_CPU, digits],
        ["CPU of the subscribers, µs per message", quantities.SPOKES_CPU, digits],
      ],
      withSpread,
    ),
}

/** @type {Report} */
const threads = {
  introduction: (measurements) =>
    `PUSH at level 9, on the loopback interface: median (minimum–maximum) of ${runsOfEach(measurements)} runs. Delays are those of ` +
    "the sender's event loop while it sends a steady stream to a PULL in another process, half as many messages as a core " +
    "can compress. They are measured from one run of a timer to the next, and so include its resolution of about 1 ms. " +
    `“To two peers” is JSON of 16 KiB sent as fast as possible: “${ONE_THREAD}” and “${TWO_THREADS}” are \`thread: true\` ` +
    "with `ioThreads` of 1 and 2. The peers read but do not decompress.",

  tables: (measurements) =>
    quantityTables(
      measurements,
      [
        ["Longest delay of the event loop, ms", quantities.LONGEST_DELAY, digits],
        ["99th percentile of its delays, ms", PERCENTILE, digits],
        ["Messages per second", "messages", shortNumber],
      ],
      withSpread,
    ),
}

/** @type {Report} */
const brokers = {
  introduction: (measurements) =>
    `A Proxy in a process of its own, on the loopback interface; JSON; medians of ${runsOfEach(measurements)} runs. Both sides ` +
    "of the broker have the same options. Messages are those that arrive.",

  tables: (measurements) =>
    quantityTables(measurements, [
      ["Messages per second", "messages", shortNumber],
      ["CPU of the broker, µs per message", quantities.BROKER_CPU, digits],
      ["Peak memory of the broker, MB", "memory of the broker", digits],
    ]),
}

/** @type {Report} */
const start = {
  introduction: (measurements) =>
    `Median (minimum–maximum) of ${runsOfEach(measurements)} new processes. “First message” is the time from connecting to ` +
    "receiving it, in one process; “first load” is that of importing the codec and of `Codec.create`. The size “in a page” is " +
    "minified and includes the WebAssembly module.",

  tables: (measurements) => [
    byName(new Run(measurements), "Start and size", (measurement) =>
      measurement.unit === "KB" ? digits(measurement.median) : withSpread(measurement, digits),
    ),
  ],
}

export const reports = {
  links,
  schemes,
  changes,
  throughput,
  corpora,
  latency,
  bursts,
  fan,
  scale,
  services,
  brokers,
  curve,
  threads,
  memory,
  costs,
  start,
  codec,
}
