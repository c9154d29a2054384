/** Shows the savings of compression on a slow network. See `--help`. */
import { setTimeout } from "node:timers/promises"
import { parseArgs } from "node:util"

import { aligned } from "../bench/lib/format.mjs"
import { ask, slowNetwork } from "./network.mjs"

const SCHEMES = /** @type {const} */ (["tcp://", "lz4+tcp://", "zstd+tcp://"])
/** Seconds of each run, of which the first ones are for the level to settle, and are not counted. */
const SECONDS = 6
const SETTLING = 2

const HELP = `npm run demo

Sends JSON events of a fictitious web shop over a slow network of 100 Mbit/s: one process pushes them as fast as
the network takes them, and another pulls them, over tcp://, lz4+tcp:// and zstd+tcp://, for ${SECONDS} seconds each.
As root, on Linux, the network is one of two network namespaces; otherwise a third process passes on no more.
The table shows the messages that arrive, the bytes that they take, the sender's processor time for each
message, and the compression level that was chosen.
`

const { values: args } = parseArgs({ options: { help: { type: "boolean", default: false } } })
if (args.help) process.stdout.write(HELP)
else {
  // So that nothing is left behind, such as namespaces.
  for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, () => process.exit(1))
  await main()
}

async function main() {
  const network = await slowNetwork()
  console.log(`a network of ${network.described}\n`)
  const receiver = await network.start("receiver.mjs")
  const sender = await network.start("sender.mjs")

  const rows = [["", "messages/s", "× tcp://", "bytes", "sender's CPU", "level"]]
  /** @type {Awaited<ReturnType<typeof run>>[]} */
  const results = []
  for (const scheme of SCHEMES) {
    const result = await run(scheme, network, { sender, receiver })
    results.push(result)
    const [tcp] = results
    rows.push([
      scheme,
      Math.round(result.rate).toLocaleString("en"),
      (result.rate / tcp.rate).toFixed(2),
      `${result.percent.toFixed(0)} %`,
      `${result.cpuUs.toFixed(1)} µs`,
      String(result.level ?? ""),
    ])
  }
  if (process.stdout.isTTY) progress("")
  console.log(`\n${aligned(rows, 1)}\n`)
  const [tcp, , zstd] = results
  console.log(
    `zstd+tcp:// carried ${(zstd.rate / tcp.rate).toFixed(1)} times as many messages as tcp://, in ${zstd.percent.toFixed(0)} % of the bytes each,`,
  )
  console.log(
    `for ${zstd.cpuUs.toFixed(0)} µs of the sender's processor time each, in place of ${tcp.cpuUs.toFixed(0)}.`,
  )
  for (const child of [sender, receiver]) child.kill()
  network.remove()
  process.exit()
}

/**
 * @param {typeof SCHEMES[number]} scheme
 * @param {import("./network.mjs").Network} network
 * @param {Record<"sender" | "receiver", import("node:child_process").ChildProcess>} ends
 */
async function run(scheme, network, { sender, receiver }) {
  const port = await ask(receiver, { do: "bind", endpoint: `${scheme}${network.address}:*` })
  sender.send({ do: "send", endpoint: `${scheme}${await network.reach(port)}` })
  const counts = async () => ({
    ms: performance.now(),
    ...(await ask(receiver, { do: "look" })),
    ...(await ask(sender, { do: "look" })),
  })
  let before = await counts()
  let first = before
  for (let second = 1; second <= SECONDS; second++) {
    await setTimeout(1000)
    const now = await counts()
    const messages = now.messages - before.messages
    const size = ((now.wireBytes - before.wireBytes) / (now.bytes - before.bytes)) * 100
    progress(
      `${scheme} ${messages.toLocaleString("en")} messages in a second, in ${size.toFixed(0)} % of their bytes`,
    )
    before = now
    if (second === SETTLING) first = now
  }
  sender.send({ do: "stop" })
  await ask(receiver, { do: "stop" })
  const messages = before.messages - first.messages
  return {
    rate: (messages / (before.ms - first.ms)) * 1000,
    percent: ((before.wireBytes - first.wireBytes) / (before.bytes - first.bytes)) * 100,
    cpuUs: ((before.cpuMs - first.cpuMs) / messages) * 1000,
    level: before.level,
  }
}

/** Shows a line, which the next one overwrites on a terminal. @param {string} text */
function progress(text) {
  if (process.stdout.isTTY) process.stdout.write(`\r\x1b[K${text}`)
  else console.log(text)
}
