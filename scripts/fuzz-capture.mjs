/**
 * Fuzzes `zeromq-lz4/capture`. Any input must give events or a CaptureFormatError, the same ones whatever
 * its chunks are, and a bounded number of events.
 */
import { createHash } from "node:crypto"
import { mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { createRandom } from "../bench/random.mjs"
import { readArgs } from "./lib/args.mjs"
import { damagedCaptures } from "./lib/damaged-captures.mjs"
import * as paths from "./lib/paths.mjs"
import { randomCommands } from "./lib/random-commands.mjs"
import { fail } from "./lib/run.mjs"

/** A block decodes to at most 255 times its bytes, and up to 256 messages share one. */
const EXPANSION_MAX = 256
/** Maximum number of events per byte: a frame has at least two bytes, and may give errors too. */
const EVENTS_PER_BYTE = 2
/** Maximum length of an error, or of the description of a command. */
const ERROR_MAX_CHARS = 400
const DETAIL_MAX_CHARS = 16 * 1024
const UNPRINTABLE = /[\p{C}\p{Zl}\p{Zp}]/u

const targets = { capture: damagedCaptures, commands: randomCommands }
/** @typedef {keyof typeof targets} Target */

const usage = `usage: node scripts/fuzz-capture.mjs --target NAME [--seconds N | --runs N] [--seed SEED]
       node scripts/fuzz-capture.mjs --target NAME --input FILE

Reads damaged captures in dist/capture. Failing inputs are written to build/fuzz/NAME/. npm run fuzz runs it.
  --target NAME   "capture": the captures of test/fuzz-corpus/capture/, with random changes;
                  "commands": random streams of commands
  --seconds N     the duration; by default 0, which only replays the corpus
  --runs N        the number of inputs besides the corpus, instead of a duration
  --seed SEED     generate the same inputs again; by default the time
  --input FILE    only this file`

const {
  target = "",
  seconds = "0",
  runs: count,
  seed = String(Date.now()),
  input,
} = readArgs(usage, {
  target: { type: "string" },
  seconds: { type: "string" },
  runs: { type: "string" },
  seed: { type: "string" },
  input: { type: "string" },
})
if (!Object.hasOwn(targets, target))
  fail(`--target: ${Object.keys(targets).join(" or ")}\n\n${usage}`)

const random = createRandom(seed)
const check = await checker(target, random)
const { corpus, make } = targets[/** @type {Target} */ (target)](random)

console.log(`seed ${seed}`)
let runs = 0
for (const file of input ? [readFileSync(input)] : corpus) run(file)
const deadline = Date.now() + Number(seconds) * 1000
const isOver = (/** @type {number} */ made) =>
  count === undefined ? Date.now() >= deadline : made >= Number(count)
for (let made = 0; !isOver(made); made++) run(make())
console.log(`${runs} runs`)

/** @param {Uint8Array} file */
function run(file) {
  check(file)
  runs++
}

/** @param {string} name @param {import("../bench/random.mjs").Random} random */
async function checker(name, random) {
  const entry = new URL("../dist/capture/index.js", import.meta.url).href
  const { CaptureFormatError, CaptureReader } = await import(entry)

  /** @param {Uint8Array} file */
  return (file) => {
    try {
      const whole = outcome(file, () => file.length || 1)
      const sizes = random.pick([3, 50, 2000])
      const pieces = outcome(file, () => 1 + random.below(sizes))
      if (whole !== pieces) throw new Error(`in chunks: ${pieces}\n\nas a whole: ${whole}`)
    } catch (error) {
      const directory = join(paths.build, "fuzz", name)
      mkdirSync(directory, { recursive: true })
      const hash = createHash("sha256").update(file).digest("hex").slice(0, 16)
      const saved = join(directory, `crash-${hash}`)
      writeFileSync(saved, file)
      console.error(error)
      console.error(
        `The input: ${paths.shown(saved)}. Again: node scripts/fuzz-capture.mjs --target ${name} --input ${paths.shown(saved)}`,
      )
      process.exit(1)
    }
  }

  /**
   * Returns the result of reading a file.
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
        checkTexts(event)
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
      // The chunks determine which events come before this error, but not whether it occurs.
      if (error instanceof CaptureFormatError) return String(error)
      throw error
    }
    if (plainBytes > EXPANSION_MAX * file.length)
      throw new Error(`${plainBytes} bytes of plaintext`)
    if (types.length > EVENTS_PER_BYTE * file.length) throw new Error(`${types.length} events`)
    return `${types.join("\n")}\n${said.digest("hex")}`
  }
}

/** @param {any} event */
function checkTexts({ error, command, message }) {
  const errors = [error, ...(message?.parts ?? []).map((/** @type {any} */ part) => part.error)]
  for (const said of errors) {
    if (!said) continue
    if (said.message.length > ERROR_MAX_CHARS) throw new Error(`an error of ${said.message.length}`)
    if (UNPRINTABLE.test(said.message)) throw new Error(`an error says ${said.message}`)
  }
  if (command?.detail.length > DETAIL_MAX_CHARS)
    throw new Error(`a detail of ${command.detail.length} characters`)
}

/**
 * A replacer for JSON.stringify. A connection, which keeps changing, becomes its number.
 * @param {string} key @param {any} value
 */
function plainly(key, value) {
  if (key === "connection") return value?.id
  if (typeof value === "bigint") return String(value)
  if (value instanceof Map) return [...value]
  if (value instanceof Uint8Array) return createHash("sha256").update(value).digest("hex")
  return value
}
