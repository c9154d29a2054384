/** The inspector page for people who use a keyboard, a screen reader, a large font or a phone. */
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import type { Browser } from "playwright-core"
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest"
import { conversation, framesOf, pcapFile } from "../support/capture-files.js"
import { root, temporaryDirectory } from "../support/packed.js"
import { handshake, message } from "../support/zmtp.js"
import { accessibilityMistakes } from "./accessibility.js"
import { launchChromium } from "./engines.js"
import { Inspector } from "./inspector-page.js"

const sample = join(root, "src/inspector/sample.pcap")
const directory = temporaryDirectory()
const inDirectory = (name: string) => join(directory.path, name)

let browser: Browser
let inspector: Inspector
beforeAll(async () => {
  browser = await launchChromium()
})
afterEach(() => inspector.close())
afterAll(async () => {
  await browser?.close()
  directory[Symbol.dispose]()
})

const mistakes = (state: string) => accessibilityMistakes(inspector, state)

describe.each(["light", "dark"] as const)("in %s colours", (colorScheme) => {
  test("every state of the page is accessible, from 320 to 1600 px", async () => {
    inspector = await Inspector.open(browser, { colorScheme })
    const { page } = inspector
    const found = await mistakes("empty")
    await page.locator(".open-paste").click()
    await page.locator("#paste-text").fill("no bytes")
    await page.locator("#paste-form .primary").click()
    await page.locator("#paste-mistake:not(:empty)").waitFor()
    found.push(...(await mistakes("a mistake in bytes")))
    await page.locator("#paste-text").fill("4c 5a")
    await page.locator("#paste-form .primary").click()
    await page.locator("#paste-result .problem").waitFor()
    found.push(...(await mistakes("bytes that do not decode")))
    await page.locator("#paste-text").fill("00000000 68656c6c6f")
    await page.locator("#paste-form .primary").click()
    await page.locator(".pasted").waitFor()
    found.push(...(await mistakes("bytes")))
    await page.locator("#paste-close").click()

    await inspector.drop(sample)
    await inspector.settled()
    await inspector.rows()
    found.push(...(await mistakes("loaded")))
    await page.locator("#open-reports").click()
    await page.locator("#reports .report").first().waitFor()
    found.push(...(await mistakes("statistics")))
    await page.locator("#reports-close").click()
    // As while a file is read, which is over too soon to be looked at.
    await page.evaluate(() => {
      document.body.dataset.phase = "reading"
    })
    found.push(...(await mistakes("reading")))
    await page.evaluate(() => {
      document.body.dataset.phase = "done"
    })

    await page.locator(".help summary").click()
    found.push(...(await mistakes("help")))
    await page.locator(".help summary").click()
    await inspector.filter("kind=LZ4B or kind=error")
    await inspector.matches(" of ")
    await page.locator("#table").focus()
    await page.keyboard.press("Home")
    await page.keyboard.press("Enter")
    for (const look of ["Auto", "JSON", "Text", "Hex & wire"]) {
      await page.getByLabel(look, { exact: true }).check()
      await page.locator("#parts[aria-busy=false]").waitFor()
      found.push(...(await mistakes(`details as ${look}`)))
    }
    await inspector.filter("kind=LZ5")
    await page.locator("#mistake:not(:empty)").waitFor()
    found.push(...(await mistakes("a mistake in the filter")))
    await inspector.filter("kind=LZ4D no such text")
    await inspector.matches("0 of")
    found.push(...(await mistakes("no rows")))

    const notes = inDirectory("notes.txt")
    writeFileSync(notes, "These are notes.")
    await inspector.drop(notes)
    await page.locator("#failure:not(:empty)").waitFor()
    await page.locator("#dictionary").setInputFiles({
      name: "long.dict",
      mimeType: "application/octet-stream",
      buffer: Buffer.alloc(9000),
    })
    found.push(...(await mistakes("an unreadable file")))
    expect(found).toEqual([])
  })
})

test("Tab reaches the filter after one connection of 500, and the arrow keys the others", async () => {
  const said = [
    ["client", handshake("PUSH")],
    ["server", handshake("PULL")],
    ["client", message(new TextEncoder().encode("\0\0\0\0hello"))],
  ] as const
  const frames = Array.from({ length: 500 }, (_, i) =>
    framesOf(conversation(said, { client: `10.0.${i >> 8}.${i & 255}:40000` })),
  )
  const crowd = inDirectory("crowd.pcap")
  writeFileSync(crowd, pcapFile(frames.flat()))
  inspector = await Inspector.open(browser)
  const { page } = inspector
  await inspector.drop(crowd)
  await inspector.settled()
  await page.locator(".connection").nth(499).waitFor()
  await page.locator("#dictionary").focus()
  const reached: (string | undefined)[] = []
  const focused = () =>
    page.evaluate(() => {
      const element = document.activeElement as HTMLElement
      return element.dataset.id ? `connection ${element.dataset.id}` : element.id
    })
  while (reached.at(-1) !== "filter" && reached.length < 20) {
    await page.keyboard.press("Tab")
    reached.push(await focused())
  }
  expect(reached.at(-1)).toBe("filter")
  expect(reached.filter((id) => id?.startsWith("connection "))).toEqual(["connection 1"])

  await page.locator(".connection").first().focus()
  await page.keyboard.press("ArrowDown")
  expect(await focused()).toBe("connection 2")
  await page.keyboard.press("End")
  expect(await focused()).toBe("connection 500")
  await page.keyboard.press("Enter")
  await inspector.matches(" of ")
  expect(await page.locator("#filter").inputValue()).toBe("connection=500")
  await page.keyboard.press("Shift+Tab")
  await page.keyboard.press("Tab")
  expect(await focused()).toBe("connection 500")
})
