/** The inspector page in use, opened from its file in Chromium, offline. */
import { execFileSync } from "node:child_process"
import { appendFileSync, readFileSync, writeFileSync } from "node:fs"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { join } from "node:path"
import { gzipSync } from "node:zlib"
import type { Browser } from "playwright-core"
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest"
import { decodeCapture } from "zeromq-lz4/capture"
import { Codec } from "zeromq-lz4/codec"
import { bytes as bytesText } from "../../src/inspector/format.js"
import { conversation, framesOf, pcapFile } from "../support/capture-files.js"
import { root, temporaryDirectory } from "../support/packed.js"
import { PACKED_PARTS, packedArena } from "../support/packed-arenas.js"
import { concat, dictionaryPart } from "../support/wire.js"
import { COMMAND, frame, greeting, handshake, message } from "../support/zmtp.js"
import { launchChromium } from "./engines.js"
import { bytesOfDump, Inspector, type InspectorOptions, pageFile } from "./inspector-page.js"
import { writeCapture, writeLogCapture } from "./large-captures.js"

const sample = join(root, "src/inspector/sample.pcap")
const directory = temporaryDirectory()
const inDirectory = (name: string) => join(directory.path, name)
const ascii = (text: string) => new TextEncoder().encode(text)

let browser: Browser
let inspector: Inspector
beforeAll(async () => {
  browser = await launchChromium()
})
afterAll(async () => {
  await browser?.close()
  directory[Symbol.dispose]()
})

const open = async (options?: InspectorOptions): Promise<void> => {
  inspector = await Inspector.open(browser, options)
}
afterEach(async () => {
  const { requests, failures } = inspector
  await inspector.close()
  expect(failures).toEqual([])
  // The page itself, and its embedded worker.
  const others = requests.filter((url) => !/^(file:.*\.html(#.*)?|blob:.*)$/.test(url))
  expect(others).toEqual([])
})

/** Returns a capture of one connection, in which the client sends these bytes after the handshake. */
function captureOf(...frames: readonly Uint8Array[]): Uint8Array {
  const said = [
    ["client", handshake("PUSH")],
    ["server", handshake("PULL")],
    ...frames.map((bytes) => ["client", bytes] as const),
  ] as const
  return pcapFile(framesOf(conversation(said, { closed: "FIN" })))
}

function write(name: string, bytes: Uint8Array): string {
  writeFileSync(inDirectory(name), bytes)
  return inDirectory(name)
}

/**
 * The number of the first message of such a capture: before it come the connection, and a greeting and
 * READY of each side.
 */
const FIRST = 6

describe("a dropped capture", () => {
  test("is decoded and shown", async () => {
    await open()
    expect(await inspector.text("name")).toBe("")
    await inspector.drop(sample)
    expect(await inspector.settled()).toBe("done")

    expect(await inspector.text("name")).toBe("sample.pcap")
    expect(await inspector.text("summary")).toMatch(/^5 connections · \d+ messages · .* · 1 error$/)
    const rows = await inspector.rows()
    expect(rows.length).toBeGreaterThan(10)
    const connections = await inspector.page.locator(".connection").allInnerTexts()
    expect(connections).toHaveLength(5)
    expect(connections.join("\n")).toMatch(/PUSH → PULL/)
    expect(connections.join("\n")).toMatch(/dictionary 2\d\d B/)
    expect(connections.join("\n")).toContain("zstd+tcp")
  })

  test("is filtered during typing", async () => {
    await open()
    await inspector.drop(sample)
    await inspector.settled()

    await inspector.filter("grace from=client")
    await inspector.page.waitForFunction(() =>
      / of /.test(document.querySelector("#matches")?.textContent ?? ""),
    )
    const rows = await inspector.rows()
    expect(rows.length).toBeGreaterThan(1)
    for (const cells of rows) {
      expect(cells.at(-1)).toMatch(/grace/i)
      expect(cells[4]).toBe("→")
    }

    await inspector.filter("no such text in here")
    await inspector.matches("0 of")
    expect(await inspector.text("none")).toBe("No row matches the filter.")
  })

  test("keeps its rows while a filter is invalid, and shows the error", async () => {
    await open()
    await inspector.drop(sample)
    await inspector.settled()
    await inspector.filter("kind=LZ4X")
    await inspector.page.locator("#mistake").filter({ hasText: "kind= is one of" }).waitFor()
    expect((await inspector.rows()).length).toBeGreaterThan(10)
    await inspector.filter("kind=LZ4D")
    await inspector.matches("1 of")
    expect(await inspector.text("mistake")).toBe("")
  })

  test("is filtered by text of any length, and by other filters after it", async () => {
    await open()
    using codec = Codec.createSync()
    const text = Array.from({ length: 12_000 }, (_, i) => `${i}(é`).join("")
    const frames = ["short", text].map((said) => message(codec.encodePart(ascii(said))))
    await inspector.drop(write("long-text.pcap", captureOf(...frames)))
    await inspector.settled()
    await inspector.filter(text.slice(0, 500))
    await inspector.matches("1 of")
    await inspector.filter(text)
    await inspector.matches("1 of")
    await inspector.filter(`${text}!`)
    await inspector.matches("0 of")
    await inspector.filter("short")
    await inspector.matches("1 of")
    expect(await inspector.text("mistake")).toBe("")
  })

  test("has a link that holds its filter", async () => {
    await open({ hash: "#filter=kind%3DLZ4D" })
    await inspector.drop(sample)
    await inspector.settled()
    await inspector.matches("1 of")
    expect(await inspector.page.locator("#filter").inputValue()).toBe("kind=LZ4D")
    await inspector.filter("!from=client é")
    await inspector.matches("0 of")
    const link = new URL(inspector.page.url()).hash
    expect(decodeURIComponent(link)).toBe("#filter=!from=client é")
    await inspector.page.evaluate(() => {
      location.hash = "#filter=kind=close"
    })
    await inspector.matches("5 of")
    // Another capture is shown as a whole.
    await inspector.drop(sample)
    await inspector.settled()
    await inspector.page.waitForFunction(() => location.hash === "")
    expect(await inspector.text("matches")).not.toContain(" of ")
  })

  test("shows connections, greetings and ends as rows", async () => {
    await open()
    await inspector.drop(sample)
    await inspector.settled()
    await inspector.filter("connection=1 (kind=connection or kind=handshake or kind=close)")
    await inspector.matches("4 of")
    const rows = await inspector.rows()
    expect(rows.map((cells) => cells[5])).toEqual(["open", "greeting", "greeting", "close"])
    await inspector.page.locator(".row").first().click()
    await inspector.page
      .locator("#title")
      .filter({ hasText: /^#1 open$/ })
      .waitFor()
  })

  test("is sorted by any column", async () => {
    await open()
    await inspector.drop(sample)
    await inspector.settled()
    await inspector.filter("kind=message")
    await inspector.matches(" of ")
    const { page } = inspector
    const order = (column: string) => page.locator(`[data-column=${column}]`)
    // The details, once they are open, leave room for some rows.
    const numbers = async () => (await inspector.rows()).slice(0, 3).map((cells) => cells[0])
    const unsorted = await numbers()
    const bodies = decodeCapture(readFileSync(sample))
      .connections.flatMap(({ messages }) => messages)
      .filter(({ parts }) => parts[0]?.kind !== "LZ4D")
    const largest = Math.max(...bodies.map(({ plainBytes }) => plainBytes))
    await order("plain").getByRole("button").click()
    await page.locator("[data-column=plain][aria-sort=ascending]").waitFor()
    await order("plain").getByRole("button").click()
    await page.locator("[data-column=plain][aria-sort=descending]").waitFor()
    await expect.poll(async () => (await inspector.rows())[0]?.[7]).toBe(bytesText(largest))
    await page.locator(".row").first().click()
    await inspector.details(Number((await inspector.rows())[0]![0]))
    for (const column of [
      "time",
      "packet",
      "connection",
      "from",
      "form",
      "parts",
      "wire",
      "ratio",
    ]) {
      await order(column).getByRole("button").click()
      await page.locator(`[data-column=${column}][aria-sort=ascending]`).waitFor()
    }
    await order("content").getByRole("button").click()
    await expect
      .poll(async () => {
        const texts = (await inspector.rows()).map((cells) => cells.at(-1)!)
        return texts.length > 1 && texts[0]! < texts.at(-1)!
      })
      .toBe(true)
    await order("number").getByRole("button").click()
    await expect.poll(numbers).toEqual(unsorted)
  })

  test("is saved and copied as the command line prints it", async () => {
    await open()
    await inspector.drop(sample)
    await inspector.settled()
    const filter = "connection=2 (kind=message or kind=close)"
    await inspector.filter(filter)
    await inspector.matches(" of ")
    const { page } = inspector
    const inspect = [
      join(root, "dist/cli/main.js"),
      "inspect",
      "--json",
      "--filter",
      filter,
      sample,
    ]
    const said = execFileSync(process.execPath, inspect, { encoding: "utf8" })
    const rows = said.split(/^(?=.*"type":"summary")/m)[0]
    const saved = async (name: string) => {
      const [download] = await Promise.all([
        page.waitForEvent("download"),
        page.getByRole("button", { name }).click(),
      ])
      return [download.suggestedFilename(), readFileSync(await download.path(), "utf8")]
    }
    expect(await saved("Save JSON")).toEqual(["sample.pcap.jsonl", rows])
    const bodies = decodeCapture(readFileSync(sample)).connections[1]!.messages.flatMap(
      ({ parts }) =>
        parts.flatMap(({ kind, plain }) => (kind === "LZ4D" ? [] : [plain ?? ascii("")])),
    )
    expect(await saved("Save bodies")).toEqual([
      "sample.pcap.bodies",
      Buffer.concat(bodies).toString("utf8"),
    ])
    await page.context().grantPermissions(["clipboard-read", "clipboard-write"])
    await page.getByRole("button", { name: "Copy" }).click()
    await expect
      .poll(() => page.evaluate(() => navigator.clipboard.readText().catch(() => "")))
      .toBe(rows)
  })

  test("is saved although another is opened meanwhile", async () => {
    await open()
    await inspector.choose(sample)
    await inspector.settled()
    const [download] = await Promise.all([
      inspector.page.waitForEvent("download"),
      inspector.page.evaluate(() => {
        document.querySelector<HTMLElement>("#save-json")!.click()
        document.querySelector<HTMLElement>(".load-sample.loaded")!.click()
      }),
    ])
    expect(readFileSync(await download.path(), "utf8")).toContain('"type":"message"')
    expect(await inspector.text("saving-mistake")).toBe("")
  })

  test("a capture that has changed since is not read again, and the page says so", async () => {
    const file = write("grows.pcap", readFileSync(sample))
    await open()
    await inspector.choose(file)
    await inspector.settled()
    appendFileSync(file, "more")
    await inspector.page.locator("#open-reports").click()
    await inspector.page
      .locator("#reports-mistake")
      .filter({ hasText: /^grows\.pcap: .* has changed since it was opened: open it again$/ })
      .waitFor()
  })

  test("is limited to a connection by a click, and complete again after another", async () => {
    await open()
    await inspector.drop(sample)
    await inspector.settled()
    const all = await inspector.text("matches")
    await inspector.page.locator(".connection").nth(1).click()
    await inspector.matches(" of ")
    for (const cells of await inspector.rows()) expect(cells[3]).toBe("2")
    expect(await inspector.page.locator("#filter").inputValue()).toBe("connection=2")
    await inspector.page.locator(".connection[aria-pressed=true]").click()
    await inspector.matches(all)
  })
})

/** Returns a capture of which there is much to say. */
function withRefused(): Uint8Array {
  const attempts = Array.from({ length: 19 }, (_, i) => {
    const [syn] = conversation([], { client: `127.0.0.1:${1001 + i}`, server: "127.0.0.1:7702" })
    const refused = { ...syn!, from: "server" as const, flags: "RA", sequence: 0 }
    return [syn!, { ...refused, acknowledged: syn!.sequence + 1 }]
  })
  const said = [
    ["client", handshake("PUSH")],
    ["server", handshake("PULL")],
    ...Array.from({ length: 30 }, () => ["client", message(ascii("\0\0\0\0hello"))] as const),
    ["client", message(ascii(`LZ4B${"\x40".padEnd(8, "\0")}no block`))],
  ] as const
  return pcapFile(framesOf([...attempts.flat(), ...conversation(said, { closed: "FIN" })]))
}

describe("at every width", () => {
  const WIDTHS = [390, 901, 1280, 1366, 1440, 1600]

  test("the result of a capture is shown as a whole", async () => {
    await open()
    await inspector.drop(write(`${"a long name, ".repeat(15)}.pcap`, withRefused()))
    await inspector.settled()
    expect(await inspector.text("summary")).toMatch(/ · 0\.52× · 1 error · 19 refused$/)
    for (const width of WIDTHS) {
      await inspector.page.setViewportSize({ width, height: 720 })
      const cut = await inspector.page.evaluate(() => {
        const summary = document.querySelector("#summary") as HTMLElement
        const text = new Range()
        text.selectNodeContents(summary)
        const [all, own] = [text.getBoundingClientRect(), summary.getBoundingClientRect()]
        const inSight = all.left >= 0 && all.right <= innerWidth
        return !inSight || all.width > own.width || all.height > own.height + 1
      })
      expect([width, cut]).toEqual([width, false])
    }
    // The name gives way, but its title does not.
    expect(await inspector.page.locator("#name").getAttribute("title")).toMatch(/^a long .*\.pcap$/)
  })

  test("there is space between the columns", async () => {
    await open()
    await inspector.drop(sample)
    await inspector.settled()
    await inspector.filter("kind=LZ4B")
    await inspector.matches(" of ")
    for (const width of WIDTHS) {
      await inspector.page.setViewportSize({ width, height: 720 })
      await inspector.rows()
      const gaps = await inspector.page.$$eval(".row", (rows) =>
        rows.flatMap((row) => {
          const boxes = [...row.children].flatMap((cell) => {
            const text = new Range()
            text.selectNodeContents(cell)
            const { left, right, width } = text.getBoundingClientRect()
            const cut = Math.min(right, cell.getBoundingClientRect().right)
            return width ? [{ left, right: cut }] : []
          })
          return boxes.slice(1).map(({ left }, i) => left - boxes[i]!.right)
        }),
      )
      expect(gaps.length).toBeGreaterThan(10)
      expect([width, Math.min(...gaps) >= 6]).toEqual([width, true])
    }
    const [ratio, content] = await inspector.page
      .locator(".names :is(.ratio, .content) button")
      .evaluateAll((names) => names.map((name) => name.getBoundingClientRect()))
    expect(content!.left - ratio!.right).toBeGreaterThanOrEqual(16)
  })
})

test("what was sent larger than its plaintext has another colour", async () => {
  await open()
  await inspector.drop(sample)
  await inspector.settled()
  await inspector.filter("kind=plain,LZ4B")
  await inspector.matches(" of ")
  await inspector.rows()
  const ratios = await inspector.page.$$eval(".row .ratio", (cells) =>
    cells.map((cell) => [Number.parseFloat(cell.textContent!) < 1, getComputedStyle(cell).color]),
  )
  const colours = (larger: boolean) =>
    new Set(ratios.filter(([is]) => is === larger).map(([, colour]) => colour))
  expect([...colours(true), ...colours(false)]).toHaveLength(2)
  expect(new Set([...colours(true), ...colours(false)]).size).toBe(2)
  await inspector.page
    .locator(".row", { has: inspector.page.locator(".larger") })
    .first()
    .click()
  await inspector.page.locator("#facts .larger").filter({ hasText: /^0\./ }).waitFor()
  // The connection in which everything became larger.
  expect(await inspector.page.locator(".sums .larger").first().innerText()).toMatch(/^0\./)
})

test("the table has the focus without a ring, until a key is pressed", async () => {
  await open()
  const { page } = inspector
  const outline = () =>
    page.locator("#table").evaluate((table) => {
      const { outlineStyle, outlineWidth } = getComputedStyle(table)
      return [document.activeElement === table, outlineStyle === "none" ? "0px" : outlineWidth]
    })
  await inspector.drop(sample)
  await inspector.settled()
  expect(await outline()).toEqual([true, "0px"])
  await page.keyboard.press("ArrowDown")
  expect(await outline()).toEqual([true, "1px"])
  await inspector.drop(sample)
  await page.keyboard.press("Tab")
  await page.keyboard.press("Shift+Tab")
  expect(await outline()).toEqual([true, "1px"])
  // Neither has the button of a file that was chosen with the mouse.
  const label = page.locator("label:has(#dictionary)")
  await Promise.all([page.waitForEvent("filechooser"), label.click()])
  expect(await label.evaluate((label) => getComputedStyle(label).outlineStyle)).toBe("none")
})

describe("an opened message", () => {
  const json = '{"id":12345678901234567890,"a":[],"a":[1,{"b":"\\u00e9"}]}'
  const long = ascii("0123456789abcdef".repeat(10_000))

  async function openRow(row: number): Promise<void> {
    await inspector.page.locator(`.row[aria-rowindex="${row + 1}"]`).click()
    await inspector.details(row)
  }
  const look = (name: string) => inspector.page.getByLabel(name, { exact: true }).check()

  test("is shown as JSON if it parses: indented, with its original digits and names", async () => {
    await open()
    using codec = Codec.createSync()
    const parts = ["topic", json].map((text) => codec.encodePart(ascii(text)))
    await inspector.drop(write("json.pcap", captureOf(message(...parts))))
    await inspector.settled()
    await openRow(FIRST)

    expect(await inspector.page.locator("pre.text").innerText()).toBe("topic")
    const shown = await inspector.page.locator("pre.json").innerText()
    expect(shown).toBe(
      '{\n  "id": 12345678901234567890,\n  "a": [],\n  "a": [\n    1,\n    {\n      "b": "\\u00e9"\n    }\n  ]\n}',
    )

    await look("Text")
    await inspector.details(FIRST)
    expect(await inspector.page.locator("pre.text").allInnerTexts()).toEqual(["topic", json])
    await look("JSON")
    await inspector.details(FIRST)
    expect(await inspector.text("parts")).toContain("It is not shown as JSON")
  })

  test.each([
    ["lz4", "LZ4B"],
    ["zstd", "ZSTD"],
  ] as const)("of %s has its wire bytes next to its plain bytes", async (format, form) => {
    await open()
    using codec = Codec.createSync({ format })
    const plain = ascii("the same again and again, ".repeat(60))
    const wire = codec.encodePart(plain)
    await inspector.drop(write("hex.pcap", captureOf(message(wire))))
    await inspector.settled()
    await openRow(FIRST)
    await look("Hex & wire")
    await inspector.details(FIRST)
    const dumps = await inspector.page.locator("pre.hex").allTextContents()
    expect(dumps.map(bytesOfDump)).toEqual([plain, wire].map((bytes) => Uint8Array.from(bytes)))
    const facts = await inspector.text("facts")
    expect(facts).toContain(form)
    expect(facts).toContain("2023-11-14 22:13:20.123")
  })

  test("from an arena has its share of the arena's bytes, everywhere", async () => {
    await open()
    using codec = Codec.createSync({ arenas: true, minCompressSize: 0 })
    const said = "the same again and again, "
    const small = [[said, "topic"], [said], [said]]
    const [[arena]] = codec.encodeBatch(small.map((parts) => parts.map(ascii))) as [[Uint8Array]]
    await inspector.drop(write("arena.pcap", captureOf(message(arena))))
    await inspector.settled()
    await openRow(FIRST)
    const wire = Number.parseInt((await inspector.rows())[FIRST - 1]![8]!, 10)
    const facts = (await inspector.text("facts")).replaceAll("\n", " ")
    expect(facts).toContain(`Wire ${wire} B of the arena's ${arena.length} B`)
    expect(facts).toContain("Arena message 1 of 3")
    const sizes = await inspector.page.locator(".part .size").allInnerTexts()
    const shares = sizes.map((size) => {
      const [, share, whole] = /plain, (\d+) of the arena's (\d+) bytes on the wire$/.exec(size)!
      expect(Number(whole)).toBe(arena.length)
      return Number(share)
    })
    expect(shares).toHaveLength(2)
    expect(shares[0]! + shares[1]!).toBe(wire)
    await look("Hex & wire")
    await inspector.details(FIRST)
    expect(await inspector.text("parts")).toContain(
      `The whole arena on the wire, ${arena.length} B`,
    )
    const [saved] = await Promise.all([
      inspector.page.waitForEvent("download"),
      inspector.page.getByRole("button", { name: "Save arena" }).first().click(),
    ])
    expect(saved.suggestedFilename()).toBe(`message-${FIRST}-part-1.arena`)
    expect(Uint8Array.from(readFileSync(await saved.path()))).toEqual(Uint8Array.from(arena))
  })

  test("is shown in windows if it is long, and can be saved completely", async () => {
    await open()
    using codec = Codec.createSync()
    await inspector.drop(write("long.pcap", captureOf(message(codec.encodePart(long)))))
    await inspector.settled()
    await openRow(FIRST)
    const shown = inspector.page.locator("pre.text")
    expect(await shown.innerText()).toHaveLength(64 * 1024)
    await inspector.page.getByRole("button", { name: /Show more/ }).click()
    await expect.poll(async () => (await shown.innerText()).length).toBe(128 * 1024)

    const [saved] = await Promise.all([
      inspector.page.waitForEvent("download"),
      inspector.page.getByRole("button", { name: "Save plain" }).click(),
    ])
    expect(saved.suggestedFilename()).toBe(`message-${FIRST}-part-1.plain`)
    expect(Uint8Array.from(readFileSync(await saved.path()))).toEqual(long)
  })

  test("is only text, whatever its content", async () => {
    await open()
    const hostile = '<img src=x onerror="document.title=1"><script>document.title=2</script>'
    using codec = Codec.createSync()
    const bytes = captureOf(message(codec.encodePart(ascii(`${hostile}\u202e`))))
    await inspector.drop(write("<b>name.pcap", bytes))
    await inspector.settled()
    await openRow(FIRST)
    expect(await inspector.page.locator("pre.text").innerText()).toBe(`${hostile}\\u{202e}`)
    expect(await inspector.page.locator("img, main b:has-text('name')").count()).toBe(0)
    expect(await inspector.page.title()).toBe("<b>name.pcap – zeromq-lz4 inspector")
  })
})

describe("invisible characters", () => {
  const HIDDEN =
    "\u200b\u200c\u00ad\u2060\u180e\u3164\u2800\ufe01\u{e0041}\x1b[31m\x9b2J\u202e\u2066\ufeff\r"
  const INVISIBLE = /[\p{C}\p{Zl}\p{Zp}\p{DI}\u2800]/u
  const hidden = ascii(HIDDEN)
  const command = (name: string, ...data: Uint8Array[]) =>
    frame(concat(Uint8Array.of(name.length), ascii(name), ...data), COMMAND)
  const property = (name: Uint8Array, value: Uint8Array) =>
    concat(Uint8Array.of(name.length), name, Uint8Array.of(0, 0, 0, value.length), value)

  /** Expects that all text on the page, and in attributes that are shown, can be seen. */
  async function expectVisible(): Promise<void> {
    const shown = await inspector.page.evaluate(() => {
      const named = [...document.querySelectorAll("[title], [aria-label]")]
      const labels = named.map((e) => `${e.getAttribute("title")} ${e.getAttribute("aria-label")}`)
      const body = document.body.cloneNode(true) as HTMLElement
      for (const element of body.querySelectorAll("script, style")) element.remove()
      return [document.title, body.textContent, ...labels].join(" ")
    })
    expect(shown.replaceAll(/[\n\t]/g, "")).not.toMatch(INVISIBLE)
    expect(shown).toContain("\\u{200b}")
  }

  test("are shown in every view, heading and label", async () => {
    await open()
    using codec = Codec.createSync()
    const ready = command(
      "READY",
      property(ascii("Socket-Type"), concat(ascii("PUSH"), hidden)),
      property(ascii("Identity"), hidden),
      property(hidden, hidden),
    )
    const json = JSON.stringify({ [`a${HIDDEN}`]: HIDDEN, long: HIDDEN.repeat(6000) })
    const said = [
      ["client", greeting()],
      ["client", ready],
      ["server", handshake("PULL")],
      ["client", command("ERROR", Uint8Array.of(hidden.length), hidden)],
      ["client", command("SUBSCRIBE", hidden)],
      ["client", command(`X${String.fromCharCode(0xad)}`, hidden)],
      ["client", message(codec.encodePart(ascii(`text${HIDDEN}`)))],
      ["client", message(codec.encodePart(ascii(json)))],
    ] as const
    const bytes = pcapFile(framesOf(conversation(said, { closed: "FIN" })))
    await inspector.drop(write(`\u202efcap\u200b.pcap`, bytes))
    await inspector.settled()
    expect(await inspector.page.title()).toContain("\\u{202e}fcap\\u{200b}.pcap")
    expect(await inspector.text("name")).toBe("\\u{202e}fcap\\u{200b}.pcap")
    const rows = (await inspector.rows()).length
    for (let row = 1; row <= rows; row++) {
      await inspector.page.locator(`.row[aria-rowindex="${row + 1}"]`).click()
      for (const look of ["Auto", "JSON", "Text", "Hex & wire"]) {
        await inspector.page.getByLabel(look, { exact: true }).check()
        await inspector.details(row)
        await expectVisible()
      }
    }
  })
})

test.each([
  { name: "saved.pcap", packed: false },
  { name: "saved.pcap.gz", packed: true },
])("the page that `zeromq-lz4 page` writes shows its capture: $name", async ({ name, packed }) => {
  const whole = readFileSync(sample)
  const capture = write(name, packed ? gzipSync(whole) : whole)
  const file = inDirectory("saved.html")
  const main = join(root, "dist/cli/main.js")
  execFileSync(process.execPath, [main, "page", "-o", file, capture])
  await open({ file })
  expect(await inspector.settled()).toBe("done")
  expect(await inspector.text("name")).toBe(name)
  expect(await inspector.text("summary")).toMatch(/^5 connections · \d+ messages · .* · 1 error$/)
})

test("several files are read as one, compressed or not", async () => {
  const whole = readFileSync(sample)
  // The end of a packet, found as inspect does: in two files of half the packets each.
  const ends = [24]
  for (let at = 24; at < whole.length; at = ends.at(-1)!)
    ends.push(at + 16 + whole.readUInt32LE(at + 8))
  const middle = ends[ends.length >> 1]!
  const first = write("ring.pcap0", whole.subarray(0, middle))
  const second = write(
    "ring.pcap1.gz",
    gzipSync(Buffer.concat([whole.subarray(0, 24), whole.subarray(middle)])),
  )
  await open()
  await inspector.choose(second, first)
  expect(await inspector.settled()).toBe("done")
  expect(await inspector.text("name")).toBe("ring.pcap1.gz and 1 more")
  expect(await inspector.text("summary")).toMatch(/^5 connections · \d+ messages · .* · 1 error$/)
})

test("a file of which the compressed data is damaged is refused, by its name", async () => {
  const packed = gzipSync(readFileSync(sample))
  await open()
  await inspector.choose(write("damaged.pcap.gz", packed.subarray(0, packed.length - 100)))
  expect(await inspector.settled()).toBe("failed")
  expect(await inspector.text("failure")).toMatch(/^damaged\.pcap\.gz: the gzip data is damaged/)
})

test("a browser that cannot unpack a file says what to do", async () => {
  await open({ before: () => Reflect.deleteProperty(globalThis, "DecompressionStream") })
  await inspector.choose(write("packed.pcap.gz", gzipSync(readFileSync(sample))))
  expect(await inspector.settled()).toBe("failed")
  expect(await inspector.text("failure")).toMatch(/^packed\.pcap\.gz: .* gunzip it first$/)
})

test("`inspect` has the same columns and totals as the page", async () => {
  const inspect = [join(root, "dist/cli/main.js"), "inspect", sample]
  const said = execFileSync(process.execPath, inspect, { encoding: "utf8" }).trimEnd().split("\n")
  await open()
  await inspector.drop(sample)
  await inspector.settled()
  const names = await inspector.page.locator(".names [role=columnheader]").allTextContents()
  const [, , ...shared] = names.filter((name) => name !== "").map((name) => name.toUpperCase())
  expect(said[0]?.split(/ +/).slice(1)).toEqual(shared)
  const [, messages, , ratio, errors] = (await inspector.text("summary")).split(" · ")
  const total = (said.at(-1) as string).replace("total: ", "").split(", ")
  expect([total[0], total[3], total[4]]).toEqual([messages, ratio, errors])
})

test("violations of a peer are shown where they happened", async () => {
  await open()
  await inspector.drop(sample)
  await inspector.settled()
  await inspector.filter("kind=error")
  await inspector.matches("1 of")
  const [cells] = await inspector.rows()
  expect(cells?.at(-1)).toMatch(/ERR_LZ4_CORRUPT_BLOCK: part 0 .* does not decode/)
  await inspector.page.locator(".row").click()
  await inspector.page.locator("#parts .problem").filter({ hasText: "does not decode" }).waitFor()
  expect(await inspector.text("parts")).toContain("ERR_LZ4_CORRUPT_BLOCK")
})

test("charts have a table of their data, and show the values under the pointer", async () => {
  await open()
  await inspector.drop(sample)
  await inspector.settled()
  const capture = decodeCapture(readFileSync(sample))
  const messages = capture.connections
    .flatMap(({ messages }) => messages)
    .filter(({ parts }) => parts[0]?.kind !== "LZ4D")
  const sum = (numbers: number[]) => numbers.reduce((all, number) => all + number, 0)

  const sizes = await inspector.chart("sizes")
  expect(sum(sizes.map(({ values }) => values[0]!))).toBe(messages.length)
  expect(sum(sizes.map(({ values }) => values[1]!))).toBe(messages.length)

  const throughput = await inspector.chart("throughput")
  const [, milliseconds] = /\+ (\d+) ms$/.exec(throughput[0]!.step)!
  const total = (series: number) =>
    Math.round((sum(throughput.map(({ values }) => values[series]!)) * Number(milliseconds)) / 1000)
  expect(total(0)).toBe(sum(messages.map(({ plainBytes }) => plainBytes)))
  expect(total(1)).toBe(Math.round(sum(messages.map(({ wireBytes }) => wireBytes))))
  expect((await inspector.chart("ratio")).length).toBe(throughput.length)

  await inspector.page.locator("#throughput .plot").hover({ position: { x: 150, y: 40 } })
  await inspector.page.locator("#throughput .readout").filter({ hasText: "/s plain" }).waitFor()

  await inspector.filter("kind=LZ4D")
  await inspector.page.locator("#sizes .nothing").waitFor()
  await inspector.filter("kind=error")
  await inspector.page.locator("#ratio .nothing", { hasText: /^None$/ }).waitFor()
  await inspector.page.locator("#throughput svg").waitFor()
})

test("everything works with the keyboard", async () => {
  await open()
  await inspector.drop(sample)
  await inspector.settled()
  const { page } = inspector
  const selected = () => page.locator(".row[aria-selected=true]").getAttribute("aria-rowindex")
  const total = Number((await inspector.text("matches")).split(" ")[0])

  await page.keyboard.press("Home")
  await expect.poll(selected).toBe("2")
  await page.keyboard.press("ArrowDown")
  await expect.poll(selected).toBe("3")
  await page.keyboard.press("PageDown")
  await expect.poll(async () => Number(await selected())).toBeGreaterThan(10)
  await page.keyboard.press("End")
  await expect.poll(selected).toBe(String(total + 1))
  const active = await page.locator("#table").getAttribute("aria-activedescendant")
  expect(await page.locator(`#${active}`).getAttribute("aria-rowindex")).toBe(String(total + 1))
  expect(await page.locator("#table").getAttribute("aria-rowcount")).toBe(String(total + 1))

  await page.keyboard.press("Enter")
  await inspector.details(total)
  await page.keyboard.press("ArrowUp")
  await inspector.details(total - 1)
  await page.keyboard.press("Escape")
  await page.locator("#details").waitFor({ state: "hidden" })
  await page.keyboard.press("/")
  await page.keyboard.type("kind=LZ4D")
  await inspector.matches("1 of")
  await page.keyboard.press("Enter")
  await page.keyboard.press("Home")
  await expect.poll(selected).toBe("2")
})

describe("statistics", () => {
  const shown = async (): Promise<string> => {
    await inspector.page.locator("#open-reports").click()
    await inspector.page
      .locator("#reports-tables:not(:empty), #reports-mistake:not(:empty)")
      .first()
      .waitFor()
    const text = await inspector.page.locator("#reports-tables").innerText()
    await inspector.page.locator("#reports-close").click()
    return text
  }

  test("are those of the command line, of the rows that match", async () => {
    await open()
    await inspector.drop(sample)
    await inspector.settled()
    const main = join(root, "dist/cli/main.js")
    for (const filter of ["", "from=server"]) {
      await inspector.filter(filter)
      await inspector.matches(filter ? " of " : " rows")
      const lines = ["statistics", "exchanges"].flatMap((command) => {
        const args = [main, command, "--filter", filter, sample]
        const printed = execFileSync(process.execPath, args, { encoding: "utf8" })
        return printed.slice(0, printed.lastIndexOf("\n\n")).split("\n")
      })
      // Without the summary, names of columns, and spaces.
      const cells = lines
        .filter((line) => !/^ +[A-Z]{2}/.test(line))
        .join(" ")
        .split(/\s+/)
      const words = (await shown()).split(/\s+/)
      expect(cells.filter((cell) => !words.includes(cell))).toEqual([])
    }
  })

  test("cannot show the text of a peer as HTML", async () => {
    await open()
    const said = [
      ["client", handshake("PUB")],
      ["server", handshake("SUB")],
      ["client", message(ascii("<b>topic</b>"), ascii("1"))],
    ] as const
    await inspector.drop(write("html.pcap", pcapFile(framesOf(conversation(said)))))
    await inspector.settled()
    expect(await shown()).toContain("<b>topic</b>")
  })
})

describe("bytes in hexadecimal", () => {
  const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString("hex")
  const decode = async (text: string) => {
    await inspector.page.locator("#paste-text").fill(text)
    await inspector.page.getByRole("button", { name: "Decode" }).click()
    await inspector.page
      .locator("#paste-result:not(:empty), #paste-mistake:not(:empty)")
      .first()
      .waitFor()
    return [await inspector.text("paste-result"), await inspector.text("paste-mistake")].join("\n")
  }

  test("are decoded, as frames or as a part", async () => {
    await open()
    await inspector.page.locator(".open-paste").click()
    using codec = Codec.createSync()
    const part = codec.encodePart(ascii("the same again and again, ".repeat(60)))
    const one = await decode(hex(part))
    expect(one).toContain("one part, without the head of its frame")
    expect(one).toContain("LZ4B")
    expect(one).toContain("the same again and again, the same")
    const frames = await decode(hex(message(part, codec.encodePart(ascii("second")))))
    expect(frames).toContain("taken for frames of ZMTP")
    expect(frames).toMatch(/1\. Message, part 2 plain 6 bytes plain, 10 bytes on the wire\s+second/)
    expect(await decode(hex(message(ascii("plain"))))).toContain("1. Message, part 1 none")
    const beginning = await decode(hex(concat(handshake("PUSH"), message(part))))
    expect(beginning).toContain("Greeting of ZMTP 3.1, NULL")
    expect(beginning).toContain('Command READY: Socket-Type "PUSH"')
    expect(beginning).toContain("3. Message, part 1 LZ4B")
    expect(await decode("00 0z")).toContain('"z" is not a hexadecimal digit')
    expect(await decode(hex(part.subarray(0, -3)))).toContain("ERR_LZ4_")
    expect(await decode(hex(message(part).subarray(0, -3)))).toMatch(
      /byte 1: the frame declares \d+ bytes; \d+ follow/,
    )
  })

  test("may have more parts than bytes", async () => {
    await open()
    await inspector.page.locator(".open-paste").click()
    const said = await decode(hex(message(packedArena())))
    expect(said).toContain("1. Message, part 100 LZ4A 0 bytes plain")
    expect(said).toContain("The other 1,400 parts of it are not shown.")
  })

  test("may need a dictionary", async () => {
    await open()
    const dictionary = ascii('{"event":"order.created","customer":"","country":"","lines":[]}')
    using codec = Codec.createSync({ dictionary })
    codec.encode([ascii("first")])
    const part = codec.encodePart(ascii('{"event":"order.created","customer":"Ada"}'.repeat(4)))
    await inspector.page.locator("#dictionary").setInputFiles(write("events.dict", dictionary))
    await inspector.page.locator("#dictionary-name").filter({ hasText: "events.dict" }).waitFor()
    await inspector.page.locator(".open-paste").click()
    expect(await decode(hex(part))).toContain('"customer":"Ada"')
  })
})

test("messages of more parts than bytes have rows, and details that say how many are not shown", async () => {
  const arena = message(packedArena())
  // Nearly a megabyte of them: with an object for each part, they would take gigabytes.
  const arenas = Buffer.alloc(arena.length * 4000, arena)
  await open()
  await inspector.drop(write("packed.pcap", captureOf(arenas)))
  expect(await inspector.settled()).toBe("done")
  await inspector.filter("kind=LZ4A")
  await inspector.matches("4,000 of ")
  const [row] = await inspector.rows()
  expect(row).toContain(PACKED_PARTS.toString())
  await inspector.page.locator(".row").first().click()
  await inspector.details(FIRST)
  const parts = await inspector.text("parts")
  expect(parts).toContain(`Part 200 of ${PACKED_PARTS.toLocaleString("en")}`)
  expect(parts).toContain("The other 1,300 parts, with 0 bytes, are not shown.")
})

describe("unreadable files", () => {
  test("a file that is not a capture", async () => {
    await open()
    await inspector.drop(
      write("notes.txt", ascii("These are notes, and nothing that was captured.")),
    )
    expect(await inspector.settled()).toBe("failed")
    expect(await inspector.text("failure")).toMatch(/pcap/)
  })

  test("an empty file cannot be opened", async () => {
    await open()
    await inspector.drop(write("empty.pcap", new Uint8Array()))
    expect(await inspector.settled()).toBe("failed")
    expect(await inspector.text("failure")).toMatch(/empty/)
  })

  test("a truncated capture: its records are shown, and that it is truncated", async () => {
    await open()
    await inspector.drop(write("cut.pcap", readFileSync(sample).subarray(0, -50)))
    expect(await inspector.settled()).toBe("done")
    await inspector.filter("ERR_CAPTURE_TRUNCATED")
    await inspector.matches(" of ")
    expect((await inspector.rows())[0]?.at(-1)).toMatch(/ends/)
  })

  test("another capture can be opened after it", async () => {
    await open()
    await inspector.drop(write("notes.txt", ascii("These are notes.")))
    await inspector.settled()
    await inspector.drop(sample)
    await inspector.page.locator("[data-phase=done]").waitFor()
    expect(await inspector.text("failure")).toBe("")
  })
})

test("the sample is built in", async () => {
  await open()
  await inspector.loadSample()
  expect(await inspector.settled()).toBe("done")
  expect(await inspector.text("name")).toBe("sample.pcap")
})

test("a capture embedded in the page is opened at once", async () => {
  const html = readFileSync(pageFile, "utf8")
  const place = '<script type="text/plain" id="capture"></script>'
  expect(html.split(place)).toHaveLength(2)
  const filled = html.replace(
    place,
    `<script type="text/plain" id="capture" data-name="link &lt;1>.pcap">${readFileSync(sample, "base64")}</script>`,
  )
  await open({ file: write("filled.html", Buffer.from(filled)) })
  expect(await inspector.settled()).toBe("done")
  expect(await inspector.text("name")).toBe("link <1>.pcap")
  expect((await inspector.rows()).length).toBeGreaterThan(10)
})

test("captures embedded in the page are read as one", async () => {
  const page = inDirectory("several.html")
  const save = [join(root, "dist/cli/main.js"), "page", "-o", page]
  execFileSync(process.execPath, [...save, sample, write("copy.pcap", readFileSync(sample))])
  await open({ file: page })
  expect(await inspector.settled()).toBe("done")
  expect(await inspector.text("name")).toBe("sample.pcap and 1 more")
  expect(await inspector.text("summary")).toMatch(/^5 connections/)
})

test("a dictionary missing in the capture can be given", async () => {
  await open()
  const dictionary = ascii('{"event":"order.created","customer":"","country":"","lines":[]}')
  const plain = ascii(
    '{"event":"order.created","customer":"Ada","country":"GB","lines":[1,2,3]} '.repeat(3),
  )
  using codec = Codec.createSync({ dictionary })
  // The dictionary, which is sent once, before the capture begins.
  const [shipped, ...wire] = codec.encode([plain])
  expect(shipped).toEqual([dictionaryPart(dictionary)])
  const said = [
    ["client", concat(...wire.map((parts) => message(...parts)))],
    ["client", message(codec.encodePart(plain))],
  ] as const
  const bytes = pcapFile(framesOf(conversation(said, { begun: false })))
  const file = write("late.pcap", bytes)
  await inspector.drop(file)
  await inspector.settled()
  const { page } = inspector
  const marked = page.locator(".row.failed .content").filter({ hasText: "missing dictionary" })
  expect(await marked.count()).toBe(2)
  await marked.first().click()
  await page.locator("dd").filter({ hasText: "probably needed" }).waitFor()
  expect(await page.locator("#connections").textContent()).toMatch(/a dictionary may have been/)
  // A warning that does not fit ends with an ellipsis; all of it is in its title, or shown if chosen.
  const warning = page.locator(".tag.error").first()
  const isCut = () =>
    warning.evaluate((tag) => {
      const right = tag.closest(".connection")!.getBoundingClientRect().right
      const clipped = tag.getBoundingClientRect().right > right
      return { clipped, cut: tag.scrollWidth > tag.clientWidth }
    })
  expect(await isCut()).toEqual({ clipped: false, cut: true })
  expect(await warning.evaluate((tag) => getComputedStyle(tag).textOverflow)).toBe("ellipsis")
  expect(await warning.getAttribute("title")).toBe(await warning.textContent())
  await page.locator(".connection").first().click()
  await page.locator(".connection[aria-pressed=true]").waitFor()
  expect(await isCut()).toEqual({ clipped: false, cut: false })
  await page.locator(".connection").first().click()
  await page.locator("#dictionary").setInputFiles(write("events.dict", dictionary))
  await page.locator("#dictionary-name").filter({ hasText: "events.dict" }).waitFor()
  await inspector.settled()
  expect(await marked.count()).toBe(0)
  await inspector.filter("country")
  await inspector.page.waitForFunction(() =>
    /^[12] of /.test(document.querySelector("#matches")?.textContent ?? ""),
  )

  await page.locator("#dictionary").setInputFiles(write("long.dict", new Uint8Array(8193)))
  await page.locator("#dictionary-mistake").filter({ hasText: "8,193 bytes" }).waitFor()

  // Both embedded in the page.
  const put = (html: string, id: string, content: Uint8Array) =>
    html.replace(
      `id="${id}"></script>`,
      `id="${id}" data-name="${id}">${Buffer.from(content).toString("base64")}</script>`,
    )
  const empty = readFileSync(pageFile, "utf8")
  const filled = put(put(empty, "capture", bytes), "capture-dictionary", dictionary)
  await inspector.close()
  await open({ file: write("both.html", Buffer.from(filled)) })
  await inspector.settled()
  expect(await inspector.text("dictionary-name")).toContain("capture-dictionary")
  await inspector.filter("country")
  await inspector.page.waitForFunction(() =>
    /^[12] of /.test(document.querySelector("#matches")?.textContent ?? ""),
  )
})

test("dark mode follows the system", async () => {
  await open({ colorScheme: "dark" })
  const background = () =>
    inspector.page.evaluate(() => getComputedStyle(document.body).backgroundColor)
  const dark = await background()
  await inspector.page.emulateMedia({ colorScheme: "light" })
  const light = await background()
  const brightness = (colour: string) => Number(/\d+/.exec(colour)?.[0])
  expect(brightness(dark)).toBeLessThan(60)
  expect(brightness(light)).toBeGreaterThan(200)
})

test("its policy blocks all requests, even from its own scripts", async () => {
  let asked = 0
  const server = createServer((_, response) => {
    asked++
    response.end()
  })
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  const { port } = server.address() as AddressInfo
  await open()
  await inspector.page.context().setOffline(false)
  const tried = await inspector.page.evaluate(async (url) => {
    const image = new Image()
    const failed = new Promise((resolve) => {
      image.onerror = () => resolve("failed")
    })
    image.src = url
    const answer = await fetch(url).catch(() => "failed")
    return [await failed, answer, navigator.sendBeacon(url)]
  }, `http://127.0.0.1:${port}/`)
  await new Promise((resolve) => server.close(resolve))
  expect(tried.slice(0, 2)).toEqual(["failed", "failed"])
  expect(asked).toBe(0)
  // Chromium reports each refused request.
  for (const failure of inspector.failures.splice(0))
    expect(failure).toContain("Content Security Policy")
  inspector.requests.length = 1
})

test("the page and Node decode the same bytes to the same messages", async () => {
  await open()
  await inspector.drop(sample)
  await inspector.settled()
  const { page } = inspector
  await inspector.filter("kind=message")
  await inspector.matches(" of ")
  await page.getByLabel("Hex & wire", { exact: true }).evaluate((input) => {
    ;(input as HTMLInputElement).click()
  })

  const expected = decodeCapture(readFileSync(sample))
    .connections.flatMap(({ messages }, i) =>
      messages.map((message) => ({ ...message, connection: String(i + 1) })),
    )
    .filter(({ parts }) => parts[0]?.kind !== "LZ4D")
    .map(({ connection, from, parts }) => ({
      connection,
      from: from === "client" ? "→" : "←",
      parts: parts.map(({ plain, wire }) =>
        (plain ? [plain, wire] : [wire]).map((bytes) => Buffer.from(bytes).toString("hex")),
      ),
    }))
  const shown: typeof expected = []
  await page.locator("#table").focus()
  await page.keyboard.press("Home")
  await page.keyboard.press("Enter")
  for (let i = 0; i < expected.length; i++) {
    if (i) await page.keyboard.press("ArrowDown")
    const row = page.locator(`.row[aria-selected=true][aria-rowindex="${i + 2}"]`)
    await row.and(page.locator(":not([data-kind=loading])")).waitFor()
    const cells = await row.locator("span").allTextContents()
    await inspector.details(Number(cells[0]))
    const dumps = await page.$$eval(".part", (parts) =>
      parts.map((part) => [...part.querySelectorAll("pre.hex")].map((pre) => pre.textContent!)),
    )
    const parts = dumps.map((dumps) =>
      dumps.map((dump) => Buffer.from(bytesOfDump(dump)).toString("hex")),
    )
    shown.push({ connection: cells[3]!, from: cells[4]!, parts })
  }
  const sorted = (list: typeof expected) => list.map((message) => JSON.stringify(message)).sort()
  expect(sorted(shown)).toEqual(sorted(expected))
})

test.each([
  "kind=message grace",
  'text~"(grace|ada).*(e+)+"',
  "!grace",
  "size>100 or kind!=message",
  "time>1s connection=2..3",
  "kind=handshake",
  "kind=error,LZ4D",
])("the page and the command line find the same rows: %s", async (filter) => {
  const inspect = [join(root, "dist/cli/main.js"), "inspect", "--filter", filter, sample]
  const said = execFileSync(process.execPath, inspect, { encoding: "utf8" })
  const [, matching, rows] = /^(\d+) of (\d+) rows match/m.exec(said) as RegExpExecArray
  await open({ hash: `#filter=${encodeURIComponent(filter)}` })
  await inspector.drop(sample)
  await inspector.settled()
  await inspector.matches(`${matching} of ${rows} rows`)
})

describe("large captures", () => {
  function* times<T>(count: number, make: (i: number) => T): Generator<T> {
    for (let i = 0; i < count; i++) yield make(i)
  }

  test("can be cancelled", async () => {
    const file = inDirectory("20-mb.pcap")
    writeLogCapture(file, 7800)
    await open()
    // By the page itself: a click from here could come too late.
    await inspector.page.evaluate(() => {
      new MutationObserver(() => {
        const cancel = document.querySelector<HTMLButtonElement>("#cancel")
        if (document.body.dataset.phase === "reading" && cancel?.checkVisibility()) cancel.click()
      }).observe(document.body, { attributeFilter: ["data-phase"] })
    })
    await inspector.choose(file)
    expect(await inspector.settled()).toBe("cancelled")
    expect(await inspector.text("progress-text")).toMatch(/^Cancelled at \d+ %/)
    expect(await inspector.text("summary")).not.toContain("7,800 messages")
  })

  test("are searched completely, also while they are read", async () => {
    const file = inDirectory("long.pcap")
    // More than the page keeps the beginnings of; one in a hundred has something at its end.
    const filler = "0123456789".repeat(400)
    writeCapture(
      file,
      times(20_000, (i) => ascii(`${i} ${filler} ${i % 100 ? "hay" : "needle"}`)),
    )
    await open({ hash: "#filter=needle" })
    await inspector.choose(file)
    expect(await inspector.settled()).toBe("done")
    await inspector.matches("200 of 20,006 rows")
    await inspector.filter("text~needle$ !hay")
    await inspector.matches("200 of 20,006 rows")
    // Another filter takes its place, whether it is complete or not.
    await inspector.filter("text~(x+x+)+y")
    await inspector.filter('"12300 0123456789"')
    await inspector.matches("1 of 20,006 rows")
  })

  test("every one of 700,000 messages can be scrolled to", async () => {
    // Their rows would be higher than the table ever is.
    const messages = 700_000
    const file = inDirectory("many.pcap")
    writeCapture(
      file,
      times(messages, (i) => ascii(`message ${i}`)),
    )
    await open()
    await inspector.choose(file)
    expect(await inspector.settled()).toBe("done")
    const numbers = async () => {
      const rows = await inspector.rows()
      return rows.map((cells) => {
        const number = Number(cells[0]!.replaceAll(",", ""))
        if (number >= FIRST && number < FIRST + messages)
          expect(cells.at(-1)).toBe(`message ${number - FIRST}`)
        return number
      })
    }
    const table = inspector.page.locator("#table")
    for (const share of [0, 0.25, 0.5, 0.999, 1]) {
      const sight = await table.evaluate((table, share) => {
        table.scrollTop = share * (table.scrollHeight - table.clientHeight)
        return table.clientHeight
      }, share)
      const shown = Math.floor(sight / 24)
      const wanted = Math.floor(share * (messages + FIRST - shown))
      await expect.poll(async () => Math.abs((await numbers())[0]! - wanted)).toBeLessThan(3)
      expect((await numbers()).length).toBeGreaterThanOrEqual(shown - 1)
    }
    await table.hover()
    const [before] = await numbers()
    await inspector.page.mouse.wheel(0, -2400)
    await expect.poll(async () => (await numbers())[0]).toBe(before! - 100)
    await inspector.page.locator("#table").focus()
    await inspector.page.keyboard.press("End")
    // The last row is that of the connection's end.
    await inspector.page.keyboard.press("ArrowUp")
    await inspector.page.keyboard.press("Enter")
    await inspector.details(FIRST + messages - 1)
    expect(await inspector.page.locator("pre.text").innerText()).toBe(`message ${messages - 1}`)
    await inspector.filter("99999")
    await inspector.matches("7 of 700,006 rows")
  })
})
