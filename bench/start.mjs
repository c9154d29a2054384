/** Measures start-up times and sizes. See `--help`. */
import { execFileSync } from "node:child_process"
import { fileURLToPath } from "node:url"

import { root } from "../scripts/lib/paths.mjs"
import { bundledCodec } from "../scripts/lib/size.mjs"
import { benchmark } from "./lib/harness.mjs"
import { readOptions } from "./lib/options.mjs"
import { ends, OURS, TCP } from "./peers/ends.mjs"
import { socketVersions } from "./peers/versions.mjs"

const options = readOptions(
  "start",
  `Measures the time of the import, the first bind and the first message, each time in a new process, over
tcp:// of zeromq.js and over lz4+tcp://; the first load of the codec; and the sizes of the package and of
the codec in a page. Less than a minute.`,
  15,
)

/** Runs a script that prints milliseconds by name. @param {string} script @param {string[]} args */
function timesOf(script, ...args) {
  const path = fileURLToPath(new URL(`start/${script}.mjs`, import.meta.url))
  const times = JSON.parse(execFileSync(process.execPath, [path, ...args], { encoding: "utf8" }))
  return Object.entries(times).map(([quantity, value]) => ({
    quantity,
    unit: "ms",
    value: /** @type {number} */ (value),
  }))
}

/** @param {() => import("./lib/harness.mjs").Result[]} run */
function ready(run) {
  run() // fills the file cache
  return { run }
}

async function sizes() {
  const { bytes, gzip } = await bundledCodec()
  const args = ["pack", "--dry-run", "--json", "--silent"]
  const [{ size, unpackedSize }] = JSON.parse(
    execFileSync("npm", args, { cwd: root, encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] }),
  )
  return Object.entries({
    "package, packed": size,
    "package, unpacked": unpackedSize,
    "codec in a page": bytes,
    "codec in a page, gzip": gzip,
  }).map(([quantity, value]) => ({ quantity, unit: "KB", value: value / 1000 }))
}

/** @type {import("./lib/harness.mjs").Cell[]} */
const cells = [
  {
    name: "sockets",
    parameters: {},
    contestants: [TCP, OURS],
    prepare(name) {
      const { module, scheme, lz4 } = ends[name]
      return ready(() => timesOf("sockets", module, scheme, JSON.stringify(lz4 ?? {})))
    },
  },
  {
    name: "codec",
    parameters: {},
    contestants: [OURS],
    prepare: () => ready(() => timesOf("codec")),
  },
  {
    name: "size",
    parameters: {},
    contestants: [OURS],
    async prepare() {
      const results = await sizes() // the same every time
      return { run: () => results }
    },
  },
]

await benchmark({ bench: "start", cells, options, versions: socketVersions() })
