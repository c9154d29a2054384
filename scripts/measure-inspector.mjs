/** Measures how long the inspector's page is busy at a time with a large capture. See `--help`. */
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { pathToFileURL } from "node:url"
import { readArgs } from "./lib/args.mjs"
import { launchChromium } from "./lib/chromium.mjs"
import { takeTurns, useInspector, watchTurns } from "./lib/inspector-turns.mjs"
import { writeLargeCapture } from "./lib/large-capture.mjs"
import { root } from "./lib/paths.mjs"

const { megabytes, message } = readArgs(
  `usage: node scripts/measure-inspector.mjs [--megabytes N] [--message BYTES]

Makes a capture of N MB (1000 if not given) of messages of about BYTES (2600), opens it in Chromium in the
inspector of dist/, filters, searches, sorts by each column, scrolls and selects rows. Prints the time that
each takes, the longest task of the page (of those of 50 ms or more), and the longest time in which the
worker did not answer.`,
  {
    megabytes: { type: "string", default: "1000" },
    message: { type: "string", default: "2600" },
  },
)

const directory = mkdtempSync(join(tmpdir(), "zeromq-lz4-inspector-"))
const browser = await launchChromium()
try {
  const file = join(directory, "large.pcap")
  const made = writeLargeCapture(file, Number(megabytes) * 1e6, Number(message))
  console.log(`${(made.bytes / 1e6).toFixed(0)} MB, ${made.messages} messages`)
  const page = await browser.newPage({ viewport: { width: 1366, height: 768 } })
  page.setDefaultTimeout(1_200_000)
  await page.addInitScript(watchTurns)
  await page.goto(pathToFileURL(join(root, "dist/inspector.html")).href)
  await takeTurns(page)
  console.log(
    `${"".padEnd(28)}${"seconds".padStart(9)}${"task, ms".padStart(10)}${"worker, ms".padStart(12)}`,
  )
  await useInspector(page, file, (name, seconds, { longTask, longestAnswer }) => {
    const cells = [seconds.toFixed(1).padStart(9), longTask.toFixed(0).padStart(10)]
    console.log(`${name.padEnd(28)}${cells.join("")}${longestAnswer.toFixed(0).padStart(12)}`)
  })
} finally {
  await browser.close()
  rmSync(directory, { recursive: true, force: true })
}
