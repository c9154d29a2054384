/** Shows the savings of compression on a slow network. See `--help`. */
import { fork } from "node:child_process"
import { once } from "node:events"
import { setTimeout } from "node:timers/promises"
import { fileURLToPath } from "node:url"
import { parseArgs } from "node:util"

import { Pull } from "zeromq-lz4"
import { aligned } from "../bench/lib/format.mjs"

const MBIT_PER_SECOND = 100
const SCHEMES = /** @type {const} */ (["tcp://", "lz4+tcp://", "zstd+tcp://"])
/** Seconds of each run, of which the first ones are for the level to settle, and are not counted. */
const SECONDS = 6
const SETTLING = 2

const HELP = `npm run demo

Runs two processes on this machine, and between them a third one, which passes on ${MBIT_PER_SECOND} Mbit/s and no
more: a slow network. One sends JSON events of a fictitious web shop through a PUSH socket, as fast as
the network takes them, and the other receives them with a PULL socket: over tcp://, lz4+tcp:// and
zstd+tcp://, for ${SECONDS} seconds each. The table shows the messages that arrive, the bytes that they take, the
sender's processor time for each message, and the compression level that was chosen.
`

const { values: args } = parseArgs({ options: { help: { type: "boolean", default: false } } })
if (args.help) process.stdout.write(HELP)
else await main()

/** @param {string} file @param {string[]} given */
function start(file, ...given) {
  const child = fork(fileURLToPath(new URL(file, import.meta.url)), given)
  child.on("exit", (code, signal) => {
    if (code === 0) return
    console.error(`${file} ended with ${signal ?? code}`)
    process.exit(1)
  })
  return child
}

/** @param {import("node:child_process").ChildProcess} child @param {object | number} order */
async function ask(child, order) {
  const answer = once(child, "message")
  child.send(order)
  return (await answer)[0]
}

async function main() {
  console.log(
    `a network of ${MBIT_PER_SECOND} Mbit/s, as a process between the sender and the receiver`,
  )
  const link = start("link.mjs", String((MBIT_PER_SECOND * 1e6) / 8 / 1000))
  const [port] = await once(link, "message")
  const sender = start("sender.mjs")
  await once(sender, "message")

  const rows = [["", "messages/s", "× tcp://", "bytes", "sender's CPU", "level"]]
  /** @type {Awaited<ReturnType<typeof run>>[]} */
  const results = []
  for (const scheme of SCHEMES) {
    const result = await run(scheme, sender, link, port)
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
  console.log(`\n${aligned(rows, 1)}\n`)
  const [tcp, , zstd] = results
  console.log(
    `zstd+tcp:// carried ${(zstd.rate / tcp.rate).toFixed(1)} times as many messages as tcp://, in ${zstd.percent.toFixed(0)} % of the bytes each,`,
  )
  console.log(
    `for ${zstd.cpuUs.toFixed(0)} µs of the sender's processor time each, in place of ${tcp.cpuUs.toFixed(0)}.`,
  )
  sender.kill()
  link.kill()
  process.exit()
}

/**
 * @param {typeof SCHEMES[number]} scheme
 * @param {import("node:child_process").ChildProcess} sender
 * @param {import("node:child_process").ChildProcess} link
 * @param {number} port  of the link
 */
async function run(scheme, sender, link, port) {
  const pull = new Pull()
  await pull.bind(`${scheme}127.0.0.1:*`)
  await ask(link, Number(pull.lastEndpoint?.split(":").pop()))
  sender.send({ do: "send", endpoint: `${scheme}127.0.0.1:${port}` })
  const received = { messages: 0, bytes: 0 }
  const receiving = (async () => {
    for await (const [message] of pull) {
      received.messages++
      received.bytes += message.length
    }
  })()
  const counts = async () => ({
    ...received,
    ms: performance.now(),
    // Over tcp:// parts are not encoded.
    wireBytes: scheme === "tcp://" ? received.bytes : pull.lz4.stats.received.wireBytes,
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
  pull.close()
  await receiving
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
