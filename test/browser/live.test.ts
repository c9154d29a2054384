/** A recording in progress in the inspector page, which the command line serves or the page reads again. */
import { appendFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import type { Browser } from "playwright-core"
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest"
import { conversation, framesOf, pcapFile } from "../support/capture-files.js"
import { temporaryDirectory } from "../support/packed.js"
import { RunningLive } from "../support/running-live.js"
import { handshake, message } from "../support/zmtp.js"
import { accessibilityMistakes } from "./accessibility.js"
import { launchChromium } from "./engines.js"
import { Inspector, type InspectorOptions } from "./inspector-page.js"

const directory = temporaryDirectory()
let browser: Browser
const opened: Inspector[] = []
beforeAll(async () => {
  browser = await launchChromium()
})
afterEach(async () => {
  for (const inspector of opened.splice(0)) await inspector.close()
})
afterAll(async () => {
  await browser?.close()
  directory[Symbol.dispose]()
})

async function open(options: InspectorOptions): Promise<Inspector> {
  const inspector = await Inspector.open(browser, options)
  opened.push(inspector)
  return inspector
}

/** Rows before the first message: the connection, and greeting and READY of each side. */
const FIRST_ROWS = 5

/** A recording of a connection, which is written piece by piece. */
class Recorded {
  #messages = 0
  readonly #said: [from: "client" | "server", bytes: Uint8Array][] = [
    ["client", handshake("PUSH")],
    ["server", handshake("PULL")],
  ]
  #bytes = 0

  /** Returns the next bytes, with this number of messages more. */
  next(messages: number): Uint8Array {
    for (let i = 0; i < messages; i++) {
      const text = `\0\0\0\0message ${this.#messages++}`
      this.#said.push(["client", message(new TextEncoder().encode(text))])
    }
    const whole = pcapFile(framesOf(conversation(this.#said)))
    const bytes = whole.subarray(this.#bytes)
    this.#bytes = whole.length
    return bytes
  }
}

/** Waits until the page has read this number of messages. */
const rows = (inspector: Inspector, messages: number): Promise<void> =>
  inspector.matches(`${FIRST_ROWS + messages} rows`)

/** Does the same for a recording that has ended, which has a row that says so. */
const rowsAtEnd = (inspector: Inspector, messages: number): Promise<void> =>
  rows(inspector, messages + 1)

const live = (inspector: Inspector, text: RegExp) =>
  inspector.page.locator("#live").filter({ hasText: text }).waitFor()

/** Waits until the last row in sight has this text. */
const lastIs = (inspector: Inspector, text: string) =>
  expect
    .poll(async () => {
      const bottom = await inspector.page.locator("#table").evaluate((table) => {
        const end = table.getBoundingClientRect().bottom
        const inSight = [...table.querySelectorAll(".row")].filter(
          (row) => row.getBoundingClientRect().bottom <= end + 1,
        )
        return inSight.at(-1)?.lastElementChild?.textContent
      })
      return bottom
    })
    .toBe(text)

describe("a recording that is served", () => {
  test("is shown as it grows, follows its end, and keeps what is selected", async () => {
    const recorded = new Recorded()
    const served = await RunningLive.start("-")
    const inspector = await open({ url: served.url })
    const { page } = inspector
    await live(inspector, /^Live$/)
    expect(await inspector.text("name")).toBe("standard input")
    expect(await inspector.text("privacy")).toBe("Nothing leaves this computer")

    await served.write(recorded.next(100))
    await rows(inspector, 100)
    await lastIs(inspector, "message 99")
    const [top] = await inspector.rows()
    const latest = page.locator("#latest")
    expect(await latest.isVisible()).toBe(false)
    await page.locator(".row", { hasText: "message 95" }).click()
    await inspector.details(FIRST_ROWS + 96)
    // The selected row stays where it is, and a button leads back to the end.
    const selected = page.locator(".row[aria-selected=true]", { hasText: "message 95" })
    const place = () => selected.boundingBox()
    const before95 = await place()
    await served.write(recorded.next(100))
    await rows(inspector, 200)
    expect(await place()).toEqual(before95)
    await latest.click()
    await lastIs(inspector, "message 199")
    await latest.waitFor({ state: "hidden" })
    expect(await page.evaluate(() => document.activeElement?.id)).toBe("table")
    await served.write(recorded.next(100))
    await rows(inspector, 300)
    await lastIs(inspector, "message 299")
    // It still follows when the details make room.
    await page.locator("#close").click()
    await lastIs(inspector, "message 299")
    // Keys select as well; End is the one that follows.
    await page.keyboard.press("ArrowUp")
    await served.write(recorded.next(50))
    await rows(inspector, 350)
    await latest.waitFor()
    await page.keyboard.press("End")
    await lastIs(inspector, "message 349")
    await served.write(recorded.next(50))
    await rows(inspector, 400)
    await lastIs(inspector, "message 399")
    await page.locator("#table").evaluate((table) => {
      table.scrollTop = 24 * 90
    })
    await page.locator(".row", { hasText: "message 95" }).click()
    await inspector.details(FIRST_ROWS + 96)
    // To scroll to the end does the same as the button.
    await page.locator("#table").evaluate((table) => {
      table.scrollTop = table.scrollHeight
    })
    await lastIs(inspector, "message 399")
    await served.write(recorded.next(50))
    await rows(inspector, 450)
    await lastIs(inspector, "message 449")

    // It does not follow any more once one has scrolled away, and the selected row is still there.
    await page.locator("#table").hover()
    await page.locator("#table").evaluate((table) => {
      table.scrollTop = 24 * 90
    })
    await page.locator(".row[aria-selected=true]", { hasText: "message 95" }).waitFor()
    const before = (await inspector.rows())[0]
    expect(before?.[0]).not.toBe(top?.[0])
    await served.write(recorded.next(50))
    await rows(inspector, 500)
    expect((await inspector.rows())[0]).toEqual(before)
    expect(await latest.isVisible()).toBe(true)
    await page.locator("#table").focus()
    await page.keyboard.press("Enter")
    await inspector.details(FIRST_ROWS + 96)

    served.end()
    await live(inspector, /^Ended$/)
    expect(await inspector.settled()).toBe("done")
    await rowsAtEnd(inspector, 500)
    // Nothing is to come.
    expect(await latest.isVisible()).toBe(false)
    expect(inspector.failures).toEqual([])
    const others = inspector.requests.filter(
      (url) => !url.startsWith(served.url) && !url.startsWith("blob:"),
    )
    expect(others).toEqual([])
  })

  test("is complete in each tab, after reloading, and after its end, until the program stops", async () => {
    const recorded = new Recorded()
    const served = await RunningLive.start("-")
    await served.write(recorded.next(50))
    const first = await open({ url: served.url, hash: "#filter=message" })
    await first.matches("50 of 55 rows")
    const second = await open({ url: served.url })
    await rows(second, 50)
    await served.write(recorded.next(50))
    await first.matches("100 of 105 rows")
    await rows(second, 100)
    await first.page.reload()
    await first.matches("100 of 105 rows")
    served.end()
    await live(first, /^Ended$/)
    await live(second, /^Ended$/)
    await second.page.reload()
    await live(second, /^Ended$/)
    await rowsAtEnd(second, 100)
    served.process.kill("SIGINT")
    expect(await served.ended()).toEqual({ code: 0, signal: null })
    expect(served.errors).toMatch(/^standard input has ended/)
    // What is there stays.
    await second.page.locator("#table").focus()
    await second.page.keyboard.press("End")
    await second.page.keyboard.press("Enter")
    await second.details(FIRST_ROWS + 101)
  })

  test("is filtered and sorted as it grows", async () => {
    const recorded = new Recorded()
    const served = await RunningLive.start("-")
    const inspector = await open({ url: served.url })
    const { page } = inspector
    await served.write(recorded.next(20))
    await rows(inspector, 20)
    await inspector.filter('"message 1"')
    await inspector.matches("11 of 25 rows")
    const column = page.locator("[data-column=content] button")
    await column.click()
    await column.click()
    const contents = async () => (await inspector.rows()).map((cells) => cells.at(-1))
    await expect
      .poll(contents)
      .toEqual([19, 18, 17, 16, 15, 14, 13, 12, 11, 10, 1].map((i) => `message ${i}`))
    await page.locator(".row", { hasText: "message 15" }).click()
    await served.write(recorded.next(100))
    await inspector.matches("31 of 125 rows")
    await expect
      .poll(async () => (await contents()).slice(0, 6))
      .toEqual([19, 18, 17, 16, 15, 14].map((i) => `message ${i}`))
    await served.write(recorded.next(1000))
    await expect.poll(async () => (await contents())[0]).toBe("message 199")
    await page.keyboard.press("ArrowDown")
    await page.locator(".row[aria-selected=true]", { hasText: "message 149" }).waitFor()
  })

  test("says that the program was stopped", async () => {
    const recorded = new Recorded()
    const served = await RunningLive.start("-")
    const inspector = await open({ url: served.url })
    await served.write(recorded.next(10))
    await rows(inspector, 10)
    served.process.kill("SIGINT")
    await live(inspector, /^Ended: zeromq-lz4 live does not answer: it has been stopped, /)
    expect(await inspector.settled()).toBe("done")
    await rowsAtEnd(inspector, 10)
  })

  test("may be a file that grows, and is overwritten", async () => {
    const recorded = new Recorded()
    const file = join(directory.path, "growing.pcap")
    writeFileSync(file, "")
    const served = await RunningLive.start(file)
    const inspector = await open({ url: served.url })
    await live(inspector, /^Live$/)
    expect(await inspector.text("name")).toBe("growing.pcap")
    for (let i = 1; i <= 3; i++) {
      appendFileSync(file, recorded.next(10))
      await rows(inspector, 10 * i)
    }
    writeFileSync(file, "")
    await live(inspector, /^Ended: the file was overwritten$/)
    await rowsAtEnd(inspector, 30)
  })

  test("is left for another one, or stopped", async () => {
    const recorded = new Recorded()
    const served = await RunningLive.start("-")
    const inspector = await open({ url: served.url })
    await served.write(recorded.next(10))
    await rows(inspector, 10)
    await inspector.page.locator("#cancel").click()
    await live(inspector, /^Ended$/)
    await inspector.page.reload()
    await rows(inspector, 10)
    await inspector.page.locator("header .load-sample").click()
    expect(await inspector.settled()).toBe("done")
    expect(await inspector.text("live")).toBe("")
    expect(await inspector.text("name")).toBe("sample.pcap")
  })
})

describe.each(["light", "dark"] as const)("in %s colours", (colorScheme) => {
  test("a recording in progress is accessible, from 320 to 1600 px", async () => {
    const recorded = new Recorded()
    const served = await RunningLive.start("-")
    const inspector = await open({ url: served.url, colorScheme })
    await live(inspector, /^Live$/)
    const found = await accessibilityMistakes(inspector, "nothing yet")
    await served.write(recorded.next(100))
    await rows(inspector, 100)
    found.push(...(await accessibilityMistakes(inspector, "live")))
    await inspector.page.locator("#table").press("Home")
    await inspector.page.locator("#latest").waitFor()
    found.push(...(await accessibilityMistakes(inspector, "live, not followed")))
    served.process.kill("SIGINT")
    await live(inspector, /^Ended: /)
    found.push(...(await accessibilityMistakes(inspector, "ended")))
    expect(found).toEqual([])
  })
})

describe("a file that is chosen in the page", () => {
  test("is read again while it grows", async () => {
    const recorded = new Recorded()
    // A page that is served has a file system of its own, with files like those that a user chooses.
    const served = await RunningLive.start("-")
    const inspector = await open({ url: served.url })
    const { page } = inspector
    const append = (bytes: Uint8Array) =>
      page.evaluate(async (base64) => {
        const directory = await navigator.storage.getDirectory()
        const handle = await directory.getFileHandle("growing.pcap", { create: true })
        const { size } = await handle.getFile()
        const stream = await handle.createWritable({ keepExistingData: true })
        await stream.seek(size)
        await stream.write(Uint8Array.from(atob(base64), (c) => c.charCodeAt(0)))
        await stream.close()
        Object.assign(window, { showOpenFilePicker: async () => [handle] })
      }, Buffer.from(bytes).toString("base64"))
    await append(recorded.next(10))
    await page.locator("header .follow").click()
    await rows(inspector, 10)
    expect(await inspector.text("name")).toBe("growing.pcap")
    await append(recorded.next(10))
    await rows(inspector, 20)
    await live(inspector, /^Live$/)
    await inspector.page.locator("#cancel").click()
    await live(inspector, /^Ended$/)
  })

  test("is only offered by a browser that can", async () => {
    const before = () => Object.assign(window, { showOpenFilePicker: undefined })
    const inspector = await open({ before })
    expect(await inspector.page.locator(".welcome .follow").isHidden()).toBe(true)
  })
})
