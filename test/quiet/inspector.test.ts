/** Time and memory that the inspector page needs for large captures. */
import { statSync } from "node:fs"
import { join } from "node:path"
import type { Browser } from "playwright-core"
import { afterAll, beforeAll, expect, test } from "vitest"
import { useInspector, watchTurns } from "../../scripts/lib/inspector-turns.mjs"
import { writeLargeCapture } from "../../scripts/lib/large-capture.mjs"
import { launchChromium } from "../browser/engines.js"
import { Inspector } from "../browser/inspector-page.js"
import { writeCapture, writeLogCapture } from "../browser/large-captures.js"
import { expectAtMost } from "../support/measured.js"
import { temporaryDirectory } from "../support/packed.js"

const MIB = 2 ** 20

let browser: Browser
beforeAll(async () => {
  browser = await launchChromium()
})
afterAll(() => browser?.close())

/** Opens a capture, and returns the time and the memory that the page needed. */
async function read(file: string, messages: number): Promise<{ seconds: number; peak: number }> {
  const inspector = await Inspector.open(browser)
  const start = performance.now()
  await inspector.choose(file)
  expect(await inspector.settled()).toBe("done")
  const seconds = (performance.now() - start) / 1000
  expect(await inspector.text("summary")).toContain(`${messages.toLocaleString("en")} messages`)
  const peak = (await inspector.peakMemoryBytes()) / MIB
  expect(inspector.failures).toEqual([])
  await inspector.close()
  return { seconds, peak }
}

test("a capture of 200 MB is read in seconds", async () => {
  using directory = temporaryDirectory()
  const file = join(directory.path, "200-mb.pcap")
  const messages = 78_000
  writeLogCapture(file, messages)
  expect(statSync(file).size).toBeGreaterThan(200 * MIB)
  const { seconds, peak } = await read(file, messages)
  expectAtMost(60, "the inspector, with a capture of 200 MB", seconds, "s")
  expectAtMost(1750, "the inspector, with a capture of 200 MB", peak, "MiB")
})

test("messages of a capture that are not shown are not kept", async () => {
  using directory = temporaryDirectory()
  const file = join(directory.path, "2-gib-of-plaintext.pcap")
  const messages = 2 * 1024
  const part = new Uint8Array(MIB).fill(7)
  writeCapture(file, Array<Uint8Array>(messages).fill(part))
  const { peak } = await read(file, messages)
  expectAtMost(1750, "the inspector, with a capture of 2 GiB of plaintext", peak, "MiB")
})

test("neither the page nor its worker is busy for long at a time", async () => {
  using directory = temporaryDirectory()
  const file = join(directory.path, "100-mb.pcap")
  // Small messages, of which there are many.
  writeLargeCapture(file, 100 * MIB, 250)
  const inspector = await Inspector.open(browser, { before: watchTurns })
  const turns = await useInspector(inspector.page, file)
  for (const turn of ["longTask", "longestAnswer"] as const) {
    const [longest] = Object.entries(turns).sort(([, a], [, b]) => b[turn] - a[turn])
    const [name, { [turn]: milliseconds }] = longest!
    expectAtMost(1000, `the inspector, ${turn}, which is: ${name}`, milliseconds, "ms")
  }
  await inspector.close()
})
