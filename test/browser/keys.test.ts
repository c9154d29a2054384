/** Connections with CURVE in the inspector page, with what ZEROMQ_LZ4_KEYLOG made a process write. */
import { appendFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import type { Browser } from "playwright-core"
import { afterAll, afterEach, beforeAll, expect, test } from "vitest"
import { captured } from "../support/captures.js"
import { runCommand } from "../support/command.js"
import { curveConversation } from "../support/curve-conversation.js"
import { temporaryDirectory } from "../support/packed.js"
import { RunningLive } from "../support/running-live.js"
import { plainPart } from "../support/wire.js"
import { message } from "../support/zmtp.js"
import { launchChromium } from "./engines.js"
import { Inspector, type InspectorOptions } from "./inspector-page.js"

const directory = temporaryDirectory()
let browser: Browser
const opened: Inspector[] = []
beforeAll(async () => {
  browser = await launchChromium()
})
afterEach(async () => {
  for (const inspector of opened.splice(0)) {
    expect(inspector.failures).toEqual([])
    await inspector.close()
  }
})
afterAll(async () => {
  await browser?.close()
  directory[Symbol.dispose]()
})

async function open(options: InspectorOptions = {}): Promise<Inspector> {
  const inspector = await Inspector.open(browser, options)
  opened.push(inspector)
  return inspector
}

function file(name: string, content: string | Uint8Array): string {
  const path = join(directory.path, name)
  writeFileSync(path, content)
  return path
}

const { said, log, seal } = curveConversation()
const sealed = (...texts: string[]) =>
  seal.client(message(...texts.map((text) => plainPart(Buffer.from(text)))))
/** A text whose end is not in the preview of a row. */
const long = `${"long text, ".repeat(1000)}and its end`
const first = [...said, ["client", sealed("topic", long)]] as typeof said
const second = ["client", sealed("another")] as const
const capture = captured([...first, [...second]])
const keys = file("keys.log", log)

/** Returns the form and the content of the last rows. */
const lastRows = async (inspector: Inspector, count: number): Promise<string[]> =>
  (await inspector.rows()).slice(-count - 1, -1).map((cells) => `${cells[5]} ${cells.at(-1)}`)

test("a key log that is chosen decrypts the open capture, row and details", async () => {
  const inspector = await open()
  await inspector.choose(file("traffic.pcap", capture))
  expect(await inspector.settled()).toBe("done")
  expect((await lastRows(inspector, 1))[0]).toMatch(/^MESSAGE encrypted/)
  await inspector.page.locator("#keys").setInputFiles(keys)
  await inspector.page.locator(".row", { hasText: "another" }).waitFor()
  expect(await inspector.text("keys-name")).toBe("keys.log, 1 key")
  const sums = inspector.page.locator("#connections .sums")
  await sums.filter({ hasText: /^2 messages · / }).waitFor()
  await inspector.page.locator(".row", { hasText: "topic" }).click()
  await inspector.page.locator("#parts", { hasText: "topic" }).waitFor()
  await inspector.filter('text~"and its end"')
  await inspector.matches("1 of")
  await inspector.page.locator("#no-keys").click()
  await inspector.page.locator(".row", { hasText: "encrypted" }).first().waitFor()
})

test("one that is dropped counts for the capture beside it; another file is no key log", async () => {
  const inspector = await open()
  await inspector.drop(keys)
  await inspector.page.locator("#keys-name", { hasText: "keys.log" }).waitFor()
  await inspector.drop(file("dropped.pcap", capture))
  expect(await inspector.settled()).toBe("done")
  expect(await lastRows(inspector, 1)).toEqual(["plain another"])
  await inspector.page.locator("#keys").setInputFiles(file("dropped.pcap", capture))
  const mistake = /^dropped\.pcap: line 1 of the key log is not/
  await inspector.page.locator("#keys-mistake").filter({ hasText: mistake }).waitFor()
})

test("a page that the command line wrote has the keys in it", async () => {
  file("paged.pcap", capture)
  await runCommand(directory.path, ["page", "--keys", "keys.log", "-o", "page.html", "paged.pcap"])
  const inspector = await open({ file: join(directory.path, "page.html") })
  expect(await inspector.settled()).toBe("done")
  expect(await lastRows(inspector, 1)).toEqual(["plain another"])
})

test("a recording in progress is decrypted as the keys are written, and saved the same", async () => {
  const growing = file("growing.log", "# none yet\n")
  const recording = file("growing.pcap", captured(first).subarray(0, -1))
  const live = await RunningLive.start("--keys", growing, recording)
  const inspector = await open({ url: live.url })
  await inspector.page.locator(".row", { hasText: "encrypted" }).first().waitFor()
  const before = captured(first).length - 1
  appendFileSync(growing, log)
  appendFileSync(recording, capture.subarray(before))
  await inspector.page.locator(".row", { hasText: "another" }).waitFor()
  // The handshake was read without the key, by each reading of the capture.
  await inspector.filter("INITIATE")
  await inspector.matches("1 of")
  await inspector.filter("another")
  await inspector.matches("1 of")
})
