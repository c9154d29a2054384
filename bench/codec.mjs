/** How fast the codec is, beside native liblz4 and other packages. `--help` says more. */
import { execFileSync } from "node:child_process"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { parseArgs } from "node:util"

import { aligned, sizeName } from "./format.mjs"
import { implementations, NATIVE, OURS, versions } from "./implementations.mjs"
import { microsecondsPerCall, summary } from "./measure.mjs"
import { buildNative, compilerVersion, nativeCodec } from "./native.mjs"
import { payload, sampleDictionary } from "./payloads.mjs"
import { appendResults, runDetails } from "./results.mjs"
import { cellsOf, HEADINGS, row } from "./table.mjs"
import { firstLoadLine, targetLines } from "./targets.mjs"

const HELP = `npm run bench:codec -- [options]

Encodes and decodes Lorem ipsum and JSON log lines of 64 B to 1 MiB, with and
without a dictionary of 2 KiB. A full run takes a few minutes and is appended to
bench/results.jsonl; node bench/report.mjs then updates the table in README.md.

  --quick             short and rough; nothing is stored
  --only TEXT         only cells whose name contains TEXT, for example
                      "decode json 16 KiB"; nothing is stored
  --rounds N          rounds per cell (default 9, quick 3)
  --milliseconds N    per implementation and round (default 60, quick 15)
  --help
`

const SIZES = [64, 256, 1024, 16 * 1024, 128 * 1024, 1024 * 1024]
const DICTIONARY_BYTES = 2048
const LOADS = 15

const { values: args } = parseArgs({
  options: {
    quick: { type: "boolean", default: false },
    only: { type: "string", default: "" },
    rounds: { type: "string" },
    milliseconds: { type: "string" },
    help: { type: "boolean", default: false },
  },
})
if (args.help) {
  process.stdout.write(HELP)
  process.exit()
}
const rounds = Number(args.rounds ?? (args.quick ? 3 : 9))
const milliseconds = Number(args.milliseconds ?? (args.quick ? 15 : 60))

/** @typedef {{ payload: "lorem" | "json", size: number, dictionary: number }} Subject */
/** @typedef {"encode" | "decode"} Operation */

/** @param {Operation} operation @param {Subject} subject */
const cellName = (operation, { payload, size, dictionary }) =>
  `${operation} ${payload} ${sizeName(size)} dict=${dictionary ? "on" : "off"}`

/**
 * Instances enough that branch prediction does not learn them, few enough to stay in the cache.
 * @param {Subject} subject
 */
function payloadsOf({ payload: kind, size }) {
  const count = Math.min(256, Math.max(4, 2 ** 20 / size))
  return Array.from({ length: count }, (_, seed) => payload(kind, size, seed))
}

/** @param {Uint8Array[]} actual @param {Uint8Array[]} expected @param {string} what */
function checkSame(actual, expected, what) {
  const same = (/** @type {Uint8Array} */ bytes, /** @type {number} */ i) =>
    Buffer.compare(bytes, expected[i]) === 0
  if (actual.length !== expected.length || !actual.every(same))
    throw new Error(`${what} does not give back what was put in`)
}

/**
 * One payload, size and dictionary: every implementation takes its turn in every round.
 * @param {Subject} subject
 * @param {readonly Operation[]} operations
 * @param {string} directory for files
 */
function measure(subject, operations, directory) {
  const dictionary = subject.dictionary
    ? sampleDictionary(subject.payload, subject.dictionary)
    : undefined
  const plains = payloadsOf(subject)
  const native = nativeCodec(directory, plains, dictionary)

  /** @type {Record<string, (operation: Operation, milliseconds: number) => number>} */
  const contestants = { [NATIVE]: native.microseconds }
  for (const [name, create] of Object.entries(implementations)) {
    const codec = create(dictionary)
    if (!codec) continue
    const wires = plains.map((plain) => codec.encode(plain))
    checkSame(wires.map(codec.decode), plains, name)
    if (name === OURS) checkSame(native.parts().map(codec.decode), plains, `${NATIVE} to ${OURS}`)
    contestants[name] = (operation, time) =>
      operation === "encode"
        ? microsecondsPerCall(codec.encode, plains, time)
        : microsecondsPerCall(codec.decode, wires, time)
  }

  const names = Object.keys(contestants)
  return operations.flatMap((operation) => {
    for (const name of names) contestants[name](operation, milliseconds / 2) // warm up
    /** @type {Record<string, number[]>} */
    const values = Object.fromEntries(names.map((name) => [name, []]))
    for (let round = 0; round < rounds; round++) {
      // Another one begins each round, so that none always follows the same neighbour.
      const first = round % names.length
      for (const name of [...names.slice(first), ...names.slice(0, first)])
        values[name].push(Number(contestants[name](operation, milliseconds).toPrecision(4)))
    }
    return names.map((name) => ({
      name: cellName(operation, subject),
      parameters: { operation, ...subject, milliseconds, payloads: plains.length },
      implementation: name,
      ...summary(values[name]),
      values: values[name],
      unit: "us/call",
    }))
  })
}

function measureFirstLoad() {
  const script = fileURLToPath(new URL("first-load.mjs", import.meta.url))
  const load = () => Number(execFileSync(process.execPath, [script], { encoding: "utf8" }))
  load() // fills the file cache
  const values = Array.from({ length: LOADS }, () => Number(load().toPrecision(4)))
  return {
    name: "first load",
    parameters: { processes: LOADS },
    implementation: OURS,
    ...summary(values),
    values,
    unit: "ms",
  }
}

/** @returns {{ subject: Subject, operations: Operation[] }[]} */
function plan() {
  const kinds = /** @type {const} */ (["lorem", "json"])
  const subjects = kinds.flatMap((payload) =>
    SIZES.flatMap((size) =>
      [0, DICTIONARY_BYTES].map((dictionary) => ({ payload, size, dictionary })),
    ),
  )
  return subjects
    .map((subject) => ({
      subject,
      operations: /** @type {Operation[]} */ (["encode", "decode"]).filter((operation) =>
        cellName(operation, subject).includes(args.only),
      ),
    }))
    .filter(({ operations }) => operations.length > 0)
}

const progress = (/** @type {string} */ text) => process.stderr.write(text)

function main() {
  buildNative()
  const details = { ...runDetails(), versions: { ...versions(), gcc: compilerVersion() } }
  const directory = mkdtempSync(join(tmpdir(), "lz4-bench-"))
  try {
    progress("first load …\n")
    const firstLoad = measureFirstLoad()
    const work = plan()
    const measurements = work.flatMap(({ subject, operations }, i) => {
      const names = operations.map((operation) => cellName(operation, subject))
      progress(`${i + 1}/${work.length} ${names.join(", ")} …\n`)
      return measure(subject, operations, directory)
    })
    const cells = cellsOf(measurements)
    for (const operation of ["encode", "decode"]) {
      const rows = cells.filter((cell) => cell.parameters.operation === operation).map(row)
      if (rows.length > 0) console.log(`\n${operation}\n${aligned([HEADINGS, ...rows])}`)
    }
    const lines = [...targetLines(cells), firstLoadLine(firstLoad.median)]
    console.log(`\nRatios are speeds of ${OURS} over the other's.\n${lines.join("\n")}`)
    if (!args.quick && !args.only) appendResults("codec", details, [...measurements, firstLoad])
  } finally {
    rmSync(directory, { recursive: true })
  }
}

main()
