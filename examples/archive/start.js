/** Records reports from a sender, and replays them to a reader. */
import { Pull, Push } from "zeromq-lz4"
import { Digest } from "./digest.js"
import { record } from "./record.js"
import { replay } from "./replay.js"

const {
  RECORDER = "lz4+tcp://127.0.0.1:5581",
  READER = "lz4+tcp://127.0.0.1:5582",
  ARCHIVE = "reports.archive",
} = process.env
const MESSAGES = 200

const incoming = new Pull({ maxMessageSize: 1 << 20 })
// revision 1 has no arenas: small messages that came in one would be stored uncompressed.
await incoming.bind(RECORDER, { keepCompressed: true, revision: 1 })
const [bytesInFile, sent] = await Promise.all([
  record(incoming, ARCHIVE, MESSAGES),
  sendReports(incoming.lastEndpoint),
])
incoming.close()
console.log(`recorded ${MESSAGES} reports of ${sent.bytes} bytes in all`)
console.log(`${ARCHIVE} has ${bytesInFile} bytes`)

const reader = new Pull({ maxMessageSize: 1 << 20 })
await reader.bind(READER)
const [read] = await Promise.all([readReports(reader), replay(ARCHIVE, reader.lastEndpoint)])
reader.close()
if (read.hash !== sent.hash) throw new Error("other reports were replayed than were recorded")
console.log(`replayed ${MESSAGES} reports: they are the same`)

async function sendReports(endpoint) {
  const push = new Push({ linger: 5000 })
  push.connect(endpoint, { level: 9 })
  const digest = new Digest()
  for (let number = 1; number <= MESSAGES; number++) {
    const message = [`report ${number}`, JSON.stringify(reportOf(number))]
    digest.add(message)
    await push.send(message)
  }
  push.close()
  return digest.result()
}

async function readReports(pull) {
  const digest = new Digest()
  for (let i = 0; i < MESSAGES; i++) digest.add(await pull.receive())
  return digest.result()
}

function reportOf(number) {
  const machines = Array.from({ length: 50 }, (_, i) => ({
    machine: `machine-${i}`,
    state: (number + i) % 17 === 0 ? "stopped" : "running",
    temperature: 40 + ((number + i) % 9),
  }))
  return { number, machines }
}
