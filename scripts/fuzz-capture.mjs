/**
 * The fuzz target "capture", which scripts/fuzz.mjs runs: any bytes as a capture, most of them good
 * ones with some damage, give events or a CaptureFormatError, the same however they are cut.
 */
import { createHash } from "node:crypto"
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { createRandom } from "../bench/random.mjs"
import { readArgs } from "./lib/args.mjs"
import * as paths from "./lib/paths.mjs"

const {
  seconds,
  seed = String(Date.now()),
  input,
} = readArgs(
  `usage: node scripts/fuzz-capture.mjs --seconds N [--seed SEED]
       node scripts/fuzz-capture.mjs --input FILE

Reads test/fuzz-corpus/capture/ and what becomes of it. An input that fails goes to build/fuzz/capture/.
  --seconds N    0 only replays the corpus
  --seed SEED    makes the same inputs again; the time when left out
  --input FILE   only this file`,
  { seconds: { type: "string" }, seed: { type: "string" }, input: { type: "string" } },
)

const entry = new URL("../dist/capture/index.js", import.meta.url).href
const { CaptureFormatError, CaptureReader } = await import(entry)
const random = createRandom(seed)
const corpus = join(paths.root, "test/fuzz-corpus/capture")
const good = input
  ? [readFileSync(input)]
  : readdirSync(corpus).map((file) => readFileSync(join(corpus, file)))

/** One block makes at most 255 times its bytes, and up to 256 messages share one. */
const EXPANSION_MAX = 256
/** Events of the least that makes any: two bytes of a frame, and errors of what is broken. */
const EVENTS_PER_BYTE = 2

console.log(`seed ${seed}`)
let runs = 0
for (const file of good) check(file)
const deadline = Date.now() + Number(seconds ?? 0) * 1000
while (Date.now() < deadline) check(damaged())
console.log(`${runs} runs`)

/** @param {Uint8Array} file */
function check(file) {
  try {
    const whole = outcome(file, () => file.length || 1)
    const sizes = random.pick([3, 50, 2000])
    const pieces = outcome(file, () => 1 + random.below(sizes))
    if (whole !== pieces) throw new Error(`in chunks: ${pieces}\n\nas a whole: ${whole}`)
    runs++
  } catch (error) {
    const directory = join(paths.build, "fuzz/capture")
    mkdirSync(directory, { recursive: true })
    const name = createHash("sha256").update(file).digest("hex").slice(0, 16)
    const saved = join(directory, `crash-${name}`)
    writeFileSync(saved, file)
    console.error(error)
    console.error(
      `The input: ${paths.shown(saved)}. Again: node scripts/fuzz-capture.mjs --input ${paths.shown(saved)}`,
    )
    process.exit(1)
  }
}

/**
 * All that a reader says of a file.
 * @param {Uint8Array} file @param {() => number} chunkBytes
 */
function outcome(file, chunkBytes) {
  const reader = new CaptureReader()
  const said = createHash("sha256")
  /** @type {string[]} */
  const types = []
  let plainBytes = 0
  /** @param {any[]} events */
  const take = (events) => {
    for (const event of events) {
      types.push(event.error ? `${event.error.code} ${event.error.message}` : event.type)
      plainBytes += event.message?.plainBytes ?? 0
      said.update(JSON.stringify(event, plainly))
    }
  }
  try {
    for (let at = 0; at < file.length; ) {
      const end = at + chunkBytes()
      take(reader.push(file.subarray(at, end)))
      at = end
    }
    take(reader.end())
  } catch (error) {
    // Which events came before it depends on the chunks; that it comes does not.
    if (error instanceof CaptureFormatError) return String(error)
    throw error
  }
  if (plainBytes > EXPANSION_MAX * file.length) throw new Error(`${plainBytes} bytes of plaintext`)
  if (types.length > EVENTS_PER_BYTE * file.length) throw new Error(`${types.length} events`)
  return `${types.join("\n")}\n${said.digest("hex")}`
}

/**
 * For JSON.stringify: what it has no form for. A connection, which goes on changing, is its number.
 * @param {string} key @param {any} value
 */
function plainly(key, value) {
  if (key === "connection") return value?.id
  if (typeof value === "bigint") return String(value)
  if (value instanceof Uint8Array) return createHash("sha256").update(value).digest("hex")
  return value
}

/** A good capture with one to six changes, or, now and then, nothing good at all. */
function damaged() {
  if (random.below(50) === 0) return random.bytes(random.below(2000))
  let file = Uint8Array.from(random.pick(good))
  for (let changes = random.between(1, 6); changes > 0; changes--) file = change(file)
  return file
}

/** @param {Uint8Array} file */
function change(file) {
  const at = random.below(file.length + 1)
  const length = random.below(random.pick([4, 100, 1000]))
  const end = Math.min(file.length, at + length)
  const other = random.pick(good)
  const from = random.below(other.length)
  const insert = random.pick([
    () => new Uint8Array(0), // cut out
    () => file.subarray(at, end).map((byte) => byte ^ random.below(256)),
    () => Uint8Array.of(random.pick([0, 1, 2, 4, 0x7f, 0x80, 0xff])),
    () => random.bytes(length),
    () => other.subarray(from, from + length),
    () => Buffer.concat([file.subarray(at, end), file.subarray(at, end)]), // said twice
  ])()
  return Uint8Array.from(Buffer.concat([file.subarray(0, at), insert, file.subarray(end)]))
}
