/**
 * Shows the savings of compression: this process receives a stream of JSON events from another one,
 * at a steady rate and as fast as possible. See `--help`.
 */
import { fork } from "node:child_process"
import { once } from "node:events"
import { fileURLToPath } from "node:url"
import { parseArgs } from "node:util"

import { Pull } from "zeromq-lz4"
import { aligned } from "../bench/lib/format.mjs"
import { dictionary, EVENTS } from "./events.mjs"

/** Events per second that leave network and processor time to spare. */
const STEADY = 50_000

const HELP = `npm run demo

Runs two processes on this machine: one sends ${EVENTS} JSON events of a fictitious web
shop through a PUSH socket, the other receives them with a PULL socket: over lz4+tcp:// at
${STEADY} events per second, without and with a dictionary of a few such events, and as
fast as possible, over lz4+tcp:// and over tcp://. The table shows the bytes of messages
sent over TCP each time, and the final level of the connection: 0 is LZ4; "none" is no
compression, which is best between two processes on the same machine that do nothing
else. Takes a few seconds.
`

/** @type {{ name: string, scheme: string, options: [object?], perSecond: number }[]} */
const runs = [
  { name: "lz4+tcp://, steady", scheme: "lz4+tcp://", options: [], perSecond: STEADY },
  {
    name: "the same with a dictionary",
    scheme: "lz4+tcp://",
    options: [{ dictionary: dictionary() }],
    perSecond: STEADY,
  },
  { name: "lz4+tcp://, full speed", scheme: "lz4+tcp://", options: [], perSecond: Infinity },
  { name: "tcp://, full speed", scheme: "tcp://", options: [], perSecond: Infinity },
]

/** Time of the last progress report. */
let shown = 0

const { values: args } = parseArgs({ options: { help: { type: "boolean", default: false } } })
if (args.help) process.stdout.write(HELP)
else await main()

async function main() {
  const sender = fork(fileURLToPath(new URL("sender.mjs", import.meta.url)), {
    serialization: "advanced", // of the dictionary
  })
  sender.on("exit", (code, signal) => {
    if (code === 0) return
    console.error(`the sending process ended with ${signal ?? code}`)
    process.exit(1)
  })
  progress("making events …", true)
  await once(sender, "message")

  const rows = [["", "messages", "plain MB", "wire MB", "ratio", "msg/s", "level"]]
  for (const run of runs) rows.push(row(run.name, await receiveFrom(sender, run)))
  progress("", true)
  sender.disconnect()
  console.log(aligned(rows, 1))
}

/** @param {import("node:child_process").ChildProcess} sender @param {typeof runs[number]} run */
async function receiveFrom(sender, { name, scheme, options, perSecond }) {
  const pull = new Pull()
  await pull.bind(`${scheme}127.0.0.1:*`)
  const sent = once(sender, "message")
  sender.send({ endpoint: pull.lastEndpoint, options, perSecond })

  let plainBytes = (await pull.receive())[0].length
  const start = performance.now()
  for (let count = 1; count < EVENTS; count++) {
    plainBytes += (await pull.receive())[0].length
    if (count % 1000 === 0) progress(`${name}: ${count} of ${EVENTS} events`)
  }
  const seconds = (performance.now() - start) / 1000
  // Over tcp:// parts are not encoded.
  const wireBytes = scheme === "tcp://" ? plainBytes : pull.lz4.stats.received.wireBytes
  const [{ level = "" }] = await sent
  pull.close()
  return { plainBytes, wireBytes, perSecond: (EVENTS - 1) / seconds, level }
}

/**
 * @param {string} name
 * @param {{ plainBytes: number, wireBytes: number, perSecond: number, level: string | number }} result
 */
function row(name, { plainBytes, wireBytes, perSecond, level }) {
  return [
    name,
    String(EVENTS),
    (plainBytes / 1e6).toFixed(1),
    (wireBytes / 1e6).toFixed(1),
    `${(plainBytes / wireBytes).toFixed(2)} ×`,
    String(Math.round(perSecond)),
    String(level),
  ]
}

/** Shows a line that is overwritten on a terminal; elsewhere it is printed now and then. @param {string} text @param {boolean} [now] */
function progress(text, now = false) {
  const { isTTY } = process.stdout
  const time = performance.now()
  if (!now && time - shown < (isTTY ? 100 : 1000)) return
  shown = time
  if (isTTY) process.stdout.write(`\r\x1b[K${text}`)
  else if (text) console.log(text)
}
