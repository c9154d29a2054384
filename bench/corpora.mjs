/** What small messages gain by dictionaries, arenas and levels. `--help` says more. */
import { execFileSync, spawn } from "node:child_process"
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { createInterface } from "node:readline"
import { fileURLToPath } from "node:url"
import { version as zmqVersion } from "zeromq"
import { Pull } from "zeromq-lz4"
import { Codec, trainDictionary } from "zeromq-lz4/codec"

import { pythonPath } from "../scripts/lib/python.mjs"
import { corpora, eventsOf } from "./corpora/corpora.mjs"
import { modes, PLAIN } from "./corpora/modes.mjs"
import { cellsOf, rows, targetLines } from "./corpora/table.mjs"
import { aligned } from "./format.mjs"
import { summary } from "./measure.mjs"
import { readOptions } from "./options.mjs"
import { appendResults, packageVersion, runDetails } from "./results.mjs"
import { startPeer } from "./transport/processes.mjs"

const HELP = `npm run bench:corpora -- [options]

Three streams of JSON events (tiny, small, larger): bytes on the wire, the speed of the codec, and
messages per second between two processes on the loopback interface, with each way to send small
messages; pyomq and Zstandard for comparison. A full run takes about five minutes and is appended
to bench/results.jsonl; node bench/report.mjs then updates the table in README.md.

  --quick       short and rough; nothing is stored
  --only NAME   one corpus; nothing is stored
  --rounds N    rounds (default 5, quick 1)
  --help
`

/** Messages that one encodeBatch gets: about what waits on a busy link. */
const BATCH = 100
/** Of each corpus the codec is timed with so much. */
const CODEC_BYTES = 10e6
/** What a dictionary is trained on, as autoDictionary would be with such a capacity. */
const SAMPLES = { 2: 100, 8: 400 }
/** Messages of one run over a link. */
const LINK_MESSAGES = { tiny: 120_000, small: 50_000, larger: 20_000 }

const args = readOptions(HELP, { full: 5, quick: 1 })
const { rounds } = args

/** @typedef {import("./results.mjs").Measurement} Measurement */
/** @typedef {import("./corpora/corpora.mjs").Corpus} Corpus */
/** @typedef {import("./corpora/modes.mjs").Dictionaries} Dictionaries */

/** Values by what was measured. */
class Collected {
  /** @type {Map<string, { implementation: string, quantity: string, unit: string, values: number[] }>} */
  #all = new Map()

  /** @param {string} implementation @param {string} quantity @param {string} unit @param {number} value */
  add(implementation, quantity, unit, value) {
    const key = `${implementation} ${quantity}`
    const entry = this.#all.get(key) ?? { implementation, quantity, unit, values: [] }
    entry.values.push(Number(value.toPrecision(5)))
    this.#all.set(key, entry)
  }

  /** @param {Corpus} corpus @returns {Measurement[]} */
  measurements({ name }) {
    return [...this.#all.values()].map(({ implementation, quantity, unit, values }) => ({
      name: `${name}: ${quantity}`,
      parameters: { corpus: name, quantity },
      implementation,
      unit,
      values,
      ...summary(values),
    }))
  }
}

const progress = (/** @type {string} */ text) => process.stderr.write(`${text} …\n`)

/** @param {Corpus} corpus */
async function measure(corpus) {
  progress(`${corpus.name}: events and dictionaries`)
  const events = eventsOf(corpus)
  const dictionaries = {
    2: await trainDictionary(events.slice(0, SAMPLES[2]), { capacity: 2048 }),
    8: await trainDictionary(events.slice(0, SAMPLES[8]), { capacity: 8192 }),
  }
  const some = head(events, CODEC_BYTES)
  const collected = new Collected()
  const directory = mkdtempSync(join(tmpdir(), "zeromq-lz4-corpora-"))
  try {
    const file = join(directory, "events")
    writeFileSync(file, Buffer.concat(some.flatMap((event) => [u32(event.length), event])))
    await measureLinks(corpus, events.length, dictionaries, collected)
    await measurePyomq(corpus, some.length, file, dictionaries, collected)
    measureCodec(corpus, some, dictionaries, collected)
    measureZstd(corpus, some, file, dictionaries, collected)
  } finally {
    rmSync(directory, { recursive: true })
  }
  return collected.measurements(corpus)
}

/** @param {readonly Uint8Array[]} events @param {number} bytes */
function head(events, bytes) {
  let left = bytes
  return events.filter(({ length }) => {
    left -= length
    return left > 0
  })
}

/** @param {Corpus} corpus @param {number} events @param {Dictionaries} dictionaries @param {Collected} collected */
async function measureLinks(corpus, events, dictionaries, collected) {
  const script = new URL("corpora/peer.mjs", import.meta.url)
  const receiver = startPeer(corpus.name, { script })
  const sender = startPeer(corpus.name, { script })
  const times = timesOf(corpus, events)
  try {
    // A round before the first that counts: code is compiled then.
    for (let round = -1; round < rounds; round++) {
      progress(
        `${corpus.name}: links, ${round < 0 ? "warming up" : `round ${round + 1} of ${rounds}`}`,
      )
      for (const { name, scheme, options } of modes) {
        const endpoint = await receiver.call("bind", scheme)
        await sender.call("connect", scheme, endpoint, options(dictionaries))
        const [rate] = await Promise.all([
          receiver.call("receive", times * events),
          sender.call("send", times),
        ])
        const ratio = await sender.call("ratio")
        await Promise.all([sender.call("close"), receiver.call("close")])
        if (round < 0) continue
        collected.add(name, "link", "msg/s", rate)
        collected.add(name, "wire", "%", 100 * ratio)
      }
    }
  } finally {
    sender.stop()
    receiver.stop()
  }
}

/** @param {Corpus} corpus @param {readonly Uint8Array[]} events @param {Dictionaries} dictionaries @param {Collected} collected */
function measureCodec(corpus, events, dictionaries, collected) {
  const bytes = events.reduce((sum, { length }) => sum + length, 0)
  const batches = Array.from({ length: Math.ceil(events.length / BATCH) }, (_, i) =>
    events.slice(i * BATCH, (i + 1) * BATCH).map((event) => [event]),
  )
  for (let round = 0; round < rounds; round++) {
    progress(`${corpus.name}: codec, round ${round + 1} of ${rounds}`)
    for (const { name, scheme, options } of modes) {
      if (scheme === PLAIN) continue
      const sender = Codec.createSync(options(dictionaries))
      const receiver = Codec.createSync()
      const start = performance.now()
      const wire = batches.flatMap((batch) => sender.encodeBatch(batch))
      const middle = performance.now()
      for (const message of wire) receiver.decode(message)
      const end = performance.now()
      collected.add(name, "encode", "MB/s", bytes / 1000 / (middle - start))
      collected.add(name, "decode", "MB/s", bytes / 1000 / (end - middle))
      sender.close()
      receiver.close()
    }
  }
}

/**
 * pyomq at both ends, and once with a socket of ours that counts what comes.
 * @param {Corpus} corpus @param {number} events @param {string} file @param {Dictionaries} dictionaries @param {Collected} collected
 */
async function measurePyomq(corpus, events, file, dictionaries, collected) {
  const times = timesOf(corpus, events)
  const hex = Buffer.from(dictionaries[2]).toString("hex")
  const ways = {
    pyomq: {},
    "pyomq, dictionary of 2 KiB": { dictionary: hex },
    "pyomq, trains a dictionary": { autoTrain: true },
  }
  for (const [name, options] of Object.entries(ways)) {
    const pull = new Pull({ linger: 0 })
    await pull.bind("lz4+tcp://127.0.0.1:*")
    const counted = python("send", file, "1", String(pull.lastEndpoint), JSON.stringify(options))
    for (let i = 0; i < events; i++) await pull.receive()
    counted.kill()
    const { plainBytes, wireBytes } = pull.lz4.stats.received
    collected.add(name, "wire", "%", (100 * wireBytes) / plainBytes)
    pull.close()
  }
  for (let round = 0; round < rounds; round++) {
    progress(`${corpus.name}: pyomq, round ${round + 1} of ${rounds}`)
    for (const [name, options] of Object.entries(ways)) {
      const receiver = python("receive", String(times * events))
      const lines = createInterface(receiver.stdout)[Symbol.asyncIterator]()
      const endpoint = (await lines.next()).value
      const sender = python("send", file, String(times), endpoint, JSON.stringify(options))
      collected.add(name, "link", "msg/s", Number((await lines.next()).value))
      sender.kill()
      receiver.kill()
    }
  }
}

/** A peer in Python; one that fails ends the benchmark. @param {string[]} args */
function python(...args) {
  const script = fileURLToPath(new URL("corpora/pyomq_peer.py", import.meta.url))
  const child = spawn(pythonPath, [script, ...args], { stdio: ["pipe", "pipe", "inherit"] })
  child.on("exit", (code) => {
    if (code) process.exit(1) // it has printed why
  })
  return child
}

/** How often a corpus of so many events goes over a link in a run. @param {Corpus} corpus @param {number} events */
function timesOf({ name }, events) {
  const wanted = LINK_MESSAGES[/** @type {keyof typeof LINK_MESSAGES} */ (name)]
  return Math.max(1, Math.round((args.quick ? 0.2 : 1) * (wanted / events)))
}

/**
 * Zstandard, and our trainer beside its own. Once: what counts here are sizes.
 * @param {Corpus} corpus @param {readonly Uint8Array[]} events @param {string} file @param {Dictionaries} dictionaries @param {Collected} collected
 */
function measureZstd(corpus, events, file, dictionaries, collected) {
  progress(`${corpus.name}: Zstandard`)
  const bytes = events.reduce((sum, { length }) => sum + length, 0)
  const script = fileURLToPath(new URL("corpora/zstd.py", import.meta.url))
  for (const kib of /** @type {const} */ ([2, 8])) {
    const dictionary = `${file}.dictionary`
    writeFileSync(dictionary, dictionaries[kib])
    const output = execFileSync(pythonPath, [script, file, String(SAMPLES[kib]), dictionary], {
      encoding: "utf8",
    })
    const theirs = readFileSync(`${dictionary}.cover`)
    const larger = wireBytes(events, dictionaries[kib]) / wireBytes(events, theirs)
    collected.add(`dictionary of ${kib} KiB`, "× zstd's trainer", "×", larger)
    if (kib !== 2) continue
    for (const line of output.trim().split("\n")) {
      const { level, dictionary, wireBytes, encode, decode } = JSON.parse(line)
      const name = `zstd ${level}${dictionary ? ", dictionary of 2 KiB" : ""}`
      collected.add(name, "wire", "%", (100 * wireBytes) / bytes)
      collected.add(name, "encode", "MB/s", encode)
      collected.add(name, "decode", "MB/s", decode)
    }
  }
}

/** @param {readonly Uint8Array[]} events @param {Uint8Array} dictionary */
function wireBytes(events, dictionary) {
  const codec = Codec.createSync({ dictionary })
  for (const event of events) codec.encodePart(event)
  codec.close()
  return codec.stats.sent.wireBytes
}

/** @param {number} value */
function u32(value) {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32LE(value)
  return bytes
}

async function main() {
  const details = {
    ...runDetails(),
    versions: {
      node: process.versions.node,
      zeromq: packageVersion("zeromq"),
      libzmq: zmqVersion,
      liblz4: Codec.lz4Version,
    },
  }
  const measurements = []
  for (const corpus of corpora)
    if (corpus.name.includes(args.only)) measurements.push(...(await measure(corpus)))
  const cells = cellsOf(measurements)
  for (const { name } of corpora) {
    const table = rows(cells, name)
    if (table.length > 1) console.log(`${name}\n${aligned(table)}\n`)
  }
  console.log(targetLines(cells).join("\n"))
  if (!args.quick && !args.only) appendResults("corpora", details, measurements)
}

await main()
