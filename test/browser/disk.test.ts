/** The inspector, opened from disk, in the engines of Chrome, Firefox and Safari. */
import { execFileSync } from "node:child_process"
import { readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { pathToFileURL } from "node:url"
import { gzipSync } from "node:zlib"
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest"
import { root, temporaryDirectory } from "../support/packed.js"
import { eventually } from "../support/sockets.js"
import { type Engine, type EnginePage, engines, type Size, until } from "./engines.js"
import { pageFile } from "./inspector-page.js"

const sample = join(root, "src/inspector/sample.pcap")
const summary = /^5 connections · \d+ messages · .* · 1 error$/
const directory = temporaryDirectory()
afterAll(() => directory[Symbol.dispose]())

const command = (...args: string[]): string =>
  execFileSync(process.execPath, ["dist/cli/main.js", ...args], {
    cwd: root,
    encoding: "utf8",
  })

describe.each(Object.keys(engines))("in %s", (name) => {
  let engine: Engine
  let page: EnginePage
  beforeAll(async () => {
    engine = await engines[name]!()
  })
  afterEach(() => page.close())
  afterAll(() => engine?.close())

  const open = async (file = pageFile, size?: Size): Promise<void> => {
    page = await engine.open(pathToFileURL(file).href, size)
  }
  const text = (selector: string): Promise<string> =>
    page.evaluate(`document.querySelector(${JSON.stringify(selector)}).textContent`)
  const settled = (): Promise<string> =>
    until(page, "/done|failed/.test(document.body.dataset.phase) && document.body.dataset.phase")
  const matches = (pattern: RegExp): Promise<boolean> =>
    until(page, `${pattern}.test(document.querySelector("#matches").textContent)`)
  const type = (filter: string): Promise<unknown> =>
    page.evaluate(
      `(document.querySelector("#filter").value = ${JSON.stringify(filter)}, ` +
        `document.querySelector("#filter").dispatchEvent(new Event("input")))`,
    )

  /** Opens the first row, a message. */
  const openFirst = async (): Promise<void> => {
    const first = ".row[data-place='0'][data-kind=message]"
    await until(page, `document.querySelector(${JSON.stringify(first)}) !== null`)
    await page.click(first)
    await until(page, "document.querySelector('#parts[aria-busy=false] .size') !== null")
  }

  test("the sample is shown, filtered, and a message opened", async () => {
    await open()
    await page.click(".welcome .load-sample")
    expect(await settled()).toBe("done")
    expect(await text("#summary")).toMatch(summary)
    const rows = await page.evaluate<number>(
      'parseInt(document.querySelector("#matches").textContent)',
    )
    const [first] = command("inspect", "--json", "--filter", "kind=LZ4B", sample).split("\n", 1)
    await type("kind=LZ4B")
    await matches(new RegExp(`of ${rows} rows$`))
    await openFirst()
    const { plainBytes } = JSON.parse(first!).parts[0]
    expect(await text(".part .size")).toContain(`${plainBytes} bytes plain`)
  })

  test("chosen files are read, compressed or not", async () => {
    const compressed = join(directory.path, "sample.pcap.gz")
    writeFileSync(compressed, gzipSync(readFileSync(sample)))
    for (const file of [sample, compressed]) {
      await open()
      await page.choose(".welcome .open-capture", file)
      expect(await settled()).toBe("done")
      expect(await text("#summary")).toMatch(summary)
    }
  })

  test("a damaged .gz is refused by its name", async () => {
    const cut = join(directory.path, "cut.pcap.gz")
    writeFileSync(cut, gzipSync(readFileSync(sample)).subarray(0, 1000))
    await open()
    await page.choose(".welcome .open-capture", cut)
    expect(await settled()).toBe("failed")
    expect(await text("#failure")).toMatch(/^cut\.pcap\.gz: the gzip data is damaged, cut off/)
  })

  test("a page with a capture in it opens it", async () => {
    const file = join(directory.path, "page.html")
    command("page", "-o", file, sample)
    await open(file)
    expect(await settled()).toBe("done")
    expect(await text("#summary")).toMatch(summary)
  })

  test("the rows that were found are copied", async () => {
    await open()
    await page.click(".welcome .load-sample")
    await settled()
    const filter = "connection=2 (kind=message or kind=close)"
    await type(filter)
    await matches(/ of /)
    await page.click("#copy")
    await page.click(".open-paste")
    await until(
      page,
      "document.querySelector('#saving-mistake').textContent || document.querySelector('#paste').open",
    )
    expect(await text("#saving-mistake")).toBe("")
    const pasted = await eventually(async () => {
      await page.paste("#paste-text")
      return (await page.evaluate<string>("document.querySelector('#paste-text').value")) || false
    })
    const rows = command("inspect", "--json", "--filter", filter, sample).split(
      /^(?=.*"type":"summary")/m,
    )[0]
    expect(pasted).toBe(rows)
  })

  test("the sizes of a part have their own line on a phone", async () => {
    await open(pageFile, { width: 390, height: 844 })
    await page.click(".welcome .load-sample")
    await settled()
    await type("kind=LZ4B")
    await openFirst()
    const [width, line] = await page.evaluate<[number, number]>(
      "['.size', 'h3'].map((name) => document.querySelector('.part ' + name).clientWidth)",
    )
    expect(width).toBeGreaterThan(0.8 * line!)
  })

  test("a file can be followed only where the browser lets a page read it again", async () => {
    await open()
    const [isOffered, isPossible] = await page.evaluate<[boolean, boolean]>(
      "[!document.querySelector('.welcome .follow').hidden, 'showOpenFilePicker' in window]",
    )
    expect(isOffered).toBe(isPossible)
  })
})
