/** Measures the gain from dictionaries, arenas and levels for small messages. See `--help`. */
import { fileURLToPath } from "node:url"
import { Codec, trainDictionary } from "zeromq-lz4/codec"

import { pythonPath } from "../scripts/lib/python.mjs"
import { corpora, eventsOf } from "./corpora/corpora.mjs"
import { DICTIONARY, LARGE_DICTIONARY, modes, zstdModes } from "./corpora/modes.mjs"
import { benchmark } from "./lib/harness.mjs"
import { writeMessages } from "./lib/messages.mjs"
import { readOptions } from "./lib/options.mjs"
import { startPeer } from "./peers/peers.mjs"
import { pushPull } from "./peers/push-pull.mjs"
import { socketVersions } from "./peers/versions.mjs"

const options = readOptions(
  "corpora",
  `Measures three streams of JSON events (tiny, small, larger) with each way to send small messages: bytes
on the wire, the speed of the codec, and messages per second between two processes on the loopback
interface, also over zstd+tcp://; pyomq and Zstandard for comparison. Linux. About seven minutes.`,
)
const seconds = options.quick ? 0.05 : 0.4

/** Messages per call of encodeBatch: about as many as are queued on a busy link. */
const BATCH = 100
/** Bytes of each corpus with which codecs are timed. */
const CODEC_BYTES = options.quick ? 1e6 : 3e6
/** Messages to train on, as for autoDictionary, by capacity in KiB. */
const SAMPLES = { 2: 100, 8: 400 }

/** @typedef {import("./corpora/corpora.mjs").Corpus} Corpus */
/** @typedef {import("./lib/harness.mjs").Contestant} Contestant */
/** @typedef {import("./lib/messages.mjs").Messages} Messages */
/** @typedef {import("./peers/peers.mjs").End} End */

/** Prepares the data of a corpus, which all contestants share. @param {Corpus} corpus */
async function subjectOf({ name, events: make, ...corpus }) {
  const events = eventsOf({ name, events: make, ...corpus })
  const some = head(events, CODEC_BYTES)
  const dictionaries = {
    2: await trainDictionary(events.slice(0, SAMPLES[2]), { capacity: 2048 }),
    8: await trainDictionary(events.slice(0, SAMPLES[8]), { capacity: 8192 }),
  }
  return {
    events,
    all: writeMessages(name, events),
    some,
    file: writeMessages(`${name}-head`, some),
    links: modes(dictionaries),
    zstd: zstdModes(dictionaries),
  }
}

/** @typedef {Awaited<ReturnType<typeof subjectOf>>} Subject */

/** @param {readonly Uint8Array[]} events @param {number} bytes */
function head(events, bytes) {
  let left = bytes
  return events.filter(({ length }) => {
    left -= length
    return left > 0
  })
}

/** @param {Subject} subject @param {End} end @returns {Promise<Contestant>} */
async function link({ all }, end) {
  const { run, stop } = await pushPull({ sender: end, receiver: end, messages: all, seconds })
  return {
    async run() {
      const [messages, wire] = await run()
      return [{ ...messages, quantity: "link" }, wire]
    },
    stop,
  }
}

/** @param {Subject} subject @param {End} end */
function codec({ some, file }, { scheme, lz4, dictionary }) {
  const batches = Array.from({ length: Math.ceil(some.length / BATCH) }, (_, i) =>
    some.slice(i * BATCH, (i + 1) * BATCH).map((event) => [event]),
  )
  // None of these modes is adaptive.
  const options = /** @type {import("zeromq-lz4/codec").CodecOptions} */ ({
    ...lz4,
    dictionary,
    format: scheme === "zstd+tcp://" ? "zstd" : "lz4",
  })
  return () => {
    const sender = Codec.createSync(options)
    const receiver = Codec.createSync()
    const start = performance.now()
    const wire = batches.flatMap((batch) => sender.encodeBatch(batch))
    const middle = performance.now()
    for (const message of wire) receiver.decode(message)
    const end = performance.now()
    sender.close()
    receiver.close()
    return rates(file, (middle - start) / 1000, (end - middle) / 1000)
  }
}

/** @param {Messages} file @param {number} encodeSeconds @param {number} decodeSeconds */
const rates = ({ bytes }, encodeSeconds, decodeSeconds) => [
  { quantity: "encode", unit: "MB/s", value: bytes / 1e6 / encodeSeconds },
  { quantity: "decode", unit: "MB/s", value: bytes / 1e6 / decodeSeconds },
]

/** @param {object} setup */
const startZstd = (setup) =>
  startPeer([pythonPath, fileURLToPath(new URL("corpora/zstd.py", import.meta.url))], setup)

/** @param {Subject} subject @param {{ level: number, dictionary?: Uint8Array }} mode @returns {Promise<Contestant>} */
async function zstd({ file }, { level, dictionary }) {
  const hex = dictionary && Buffer.from(dictionary).toString("hex")
  const peer = await startZstd({ file: file.path, level, dictionary: hex })
  return {
    async run() {
      const { wireBytes, encodeSeconds, decodeSeconds } = await peer.call("measure")
      const wire = { quantity: "wire", unit: "%", value: (100 * wireBytes) / file.bytes }
      return [wire, ...rates(file, encodeSeconds, decodeSeconds)]
    },
    stop: peer.stop,
  }
}

/** Divides the wire bytes with our trainer's dictionary by those with zstd's COVER dictionary. */
async function besideCover(
  /** @type {Subject} */ { some, file },
  /** @type {Uint8Array} */ dictionary,
  /** @type {number} */ samples,
) {
  const peer = await startZstd({ file: file.path, level: 1 })
  const answer = await peer.call("cover", { samples, size: dictionary.length })
  peer.stop()
  const theirs = Buffer.from(answer.dictionary, "hex")
  const value = wireBytes(some, dictionary) / wireBytes(some, theirs)
  return { quantity: "× zstd's trainer", unit: "×", value }
}

/** @param {readonly Uint8Array[]} events @param {Uint8Array} dictionary */
function wireBytes(events, dictionary) {
  const codec = Codec.createSync({ dictionary })
  for (const event of events) codec.encodePart(event)
  codec.close()
  return codec.stats.sent.wireBytes
}

/** @type {Record<string, number>} */
const TRAINED = { [DICTIONARY]: SAMPLES[2], [LARGE_DICTIONARY]: SAMPLES[8] }

/** @param {Subject} subject @param {string} name @returns {Promise<Contestant>} */
async function prepare(subject, name) {
  if (subject.zstd[name]) return zstd(subject, subject.zstd[name])
  const end = subject.links[name]
  const overLink = await link(subject, end)
  if (end.module !== "zeromq-lz4") return overLink
  const inProcess = codec(subject, end)
  inProcess() // warm up
  const compared =
    end.dictionary && TRAINED[name]
      ? [await besideCover(subject, end.dictionary, TRAINED[name])]
      : []
  return {
    run: async () => [...(await overLink.run()), ...inProcess(), ...compared],
    stop: overLink.stop,
  }
}

const none = { 2: new Uint8Array(0), 8: new Uint8Array(0) }
const contestants = [...Object.keys(modes(none)), ...Object.keys(zstdModes(none))]
const cells = corpora.map((corpus) => {
  /** @type {Promise<Subject> | undefined} */
  let subject
  return {
    name: corpus.name,
    parameters: { corpus: corpus.name, seconds },
    contestants,
    async prepare(/** @type {string} */ name) {
      subject ??= subjectOf(corpus)
      return prepare(await subject, name)
    },
  }
})

await benchmark({ bench: "corpora", cells, options, versions: socketVersions() })
