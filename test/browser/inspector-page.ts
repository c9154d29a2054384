/** The inspector, opened from its file in Chromium, offline, with functions that read the page. */
import { readFileSync } from "node:fs"
import { basename } from "node:path"
import { pathToFileURL } from "node:url"
import type { Browser, Page } from "playwright-core"
import { root } from "../support/packed.js"
import { WAIT_MS } from "./engines.js"

export const pageFile = `${root}dist/inspector.html`

export interface InspectorOptions {
  /** A page to open instead of the built one. */
  file?: string
  /** The address of a page that is served, to which the browser is not offline. */
  url?: string
  colorScheme?: "light" | "dark"
  /** The part of its address from "#" on. */
  hash?: string
  /** Runs in the page before its own scripts. */
  before?: () => void
}

export class Inspector {
  readonly page: Page
  /** Addresses of all requests of the page. */
  readonly requests: string[] = []
  /** Errors in the page. */
  readonly failures: string[] = []

  private constructor(page: Page) {
    this.page = page
    page.on("request", (request) => this.requests.push(request.url()))
    page.on("pageerror", (error) => this.failures.push(error.message))
    page.on("console", (message) => this.failures.push(message.text()))
  }

  static async open(browser: Browser, options: InspectorOptions = {}): Promise<Inspector> {
    const { file = pageFile, url, colorScheme = "light", hash = "", before } = options
    const context = await browser.newContext({
      viewport: { width: 1366, height: 768 },
      colorScheme,
      offline: url === undefined,
    })
    context.setDefaultTimeout(WAIT_MS)
    const inspector = new Inspector(await context.newPage())
    if (before) await inspector.page.addInitScript(before)
    await inspector.page.goto((url ?? pathToFileURL(file).href) + hash)
    return inspector
  }

  close(): Promise<void> {
    return this.page.context().close()
  }

  /** Drops a file on the page. */
  async drop(file: string): Promise<void> {
    const base64 = readFileSync(file, "base64")
    const transfer = await this.page.evaluateHandle(
      ({ base64, name }) => {
        const bytes = Uint8Array.from(atob(base64), (c) => c.charCodeAt(0))
        const transfer = new DataTransfer()
        transfer.items.add(new File([bytes], name))
        return transfer
      },
      { base64, name: basename(file) },
    )
    await this.page.dispatchEvent("body", "drop", { dataTransfer: transfer })
  }

  /** Chooses files of any size. */
  choose(...files: string[]): Promise<void> {
    return this.page.locator(".welcome .open-capture").setInputFiles(files)
  }

  loadSample(): Promise<void> {
    return this.page.locator(".welcome .load-sample").click()
  }

  /** Waits until the file is read, and returns the status. */
  async settled(): Promise<string> {
    const phases = ["done", "cancelled", "failed"].map((phase) => `[data-phase=${phase}]`)
    await this.page.locator(phases.join()).waitFor()
    return (await this.page.locator("body").getAttribute("data-phase")) ?? ""
  }

  text(id: string): Promise<string> {
    return this.page.locator(`#${id}`).innerText()
  }

  async filter(text: string): Promise<void> {
    await this.page.locator("#filter").fill(text)
  }

  /** Waits until there is this number of rows. */
  async matches(text: string): Promise<void> {
    await this.page.locator("#matches").filter({ hasText: text }).waitFor()
  }

  /** Returns the visible rows, as the text of their cells. */
  async rows(): Promise<string[][]> {
    await this.page.waitForFunction(
      () => !document.querySelector('.row[data-kind="loading"]') && document.querySelector(".row"),
    )
    return this.page.$$eval(".row", (rows) =>
      rows.map((row) => [...row.children].map((cell) => cell.textContent ?? "")),
    )
  }

  /** Waits until the details of this row are complete. */
  async details(number: number): Promise<void> {
    const title = `#${number.toLocaleString("en")} `
    await this.page.waitForFunction(
      (title) =>
        document.querySelector("#title")?.textContent?.startsWith(title) &&
        document.querySelector("#parts")?.getAttribute("aria-busy") === "false",
      title,
    )
  }

  /** Returns the data of a figure: the name of each step and its values. */
  chart(id: "throughput" | "ratio" | "sizes"): Promise<{ step: string; values: number[] }[]> {
    return this.page.$$eval(`#${id} tbody tr`, (rows) =>
      rows.map((row) => ({
        step: row.querySelector("th")?.textContent ?? "",
        values: [...row.querySelectorAll("td")].map((cell) => Number(cell.dataset.value)),
      })),
    )
  }

  /** Returns the peak memory of the page and its worker. Linux only. */
  async peakMemoryBytes(): Promise<number> {
    const session = await this.page.context().browser()!.newBrowserCDPSession()
    const { processInfo } = await session.send("SystemInfo.getProcessInfo")
    await session.detach()
    const peaks = processInfo
      .filter(({ type }) => type === "renderer")
      .map(({ id }) => /VmHWM:\s+(\d+) kB/.exec(readFileSync(`/proc/${id}/status`, "utf8"))?.[1])
    return Math.max(...peaks.map(Number)) * 1024
  }
}

/** Returns the bytes in a hex dump. */
export function bytesOfDump(text: string): Uint8Array {
  const lines = text.split("\n").filter(Boolean)
  // 8 digits of the offset and two blanks; 16 bytes with blanks between them take 48 characters.
  return Uint8Array.from(
    lines.flatMap((line) => line.slice(10, 58).trim().split(/\s+/).filter(Boolean)),
    (digits) => Number.parseInt(digits, 16),
  )
}
