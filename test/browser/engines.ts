/** The engines of Chrome, Firefox and Safari, with what the tests do in all of them. */
import type { Browser } from "playwright-core"
import puppeteer from "puppeteer-core"
import { launchChromium as launch } from "../../scripts/lib/chromium.mjs"
import { programPath } from "../../scripts/lib/files.mjs"
import { launchWebKit } from "./webkit.js"

/** Limit of each wait for the browser, which only ends tests that hang. */
export const WAIT_MS = 240_000

export interface Engine {
  open(url: string, size?: Size): Promise<EnginePage>
  close(): Promise<void>
}

export interface EnginePage {
  /** Returns the value of an expression, which must be one that JSON has. */
  evaluate<Value>(expression: string): Promise<Value>
  click(selector: string): Promise<void>
  /** Chooses files in an input. */
  choose(selector: string, ...files: string[]): Promise<void>
  /** Pastes what was copied into a field. */
  paste(selector: string): Promise<void>
  close(): Promise<void>
}

/** In CSS pixels. */
export interface Size {
  width: number
  height: number
}
const DESKTOP: Size = { width: 1366, height: 768 }

/** Starts each engine. */
export const engines: Readonly<Record<string, () => Promise<Engine>>> = {
  Chromium: async () => inChromium(await launchChromium()),
  Firefox: launchFirefox,
  WebKit: launchWebKit,
}

/** Waits until an expression is true, and returns its value. */
export async function until<Value>(page: EnginePage, expression: string): Promise<Value> {
  const end = performance.now() + WAIT_MS
  for (;;) {
    const value = await page.evaluate<Value>(expression)
    if (value) return value
    if (performance.now() > end) throw new Error(`not true after ${WAIT_MS} ms: ${expression}`)
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
}

export const launchChromium = (): Promise<Browser> => launch({ timeout: WAIT_MS })

export function inChromium(browser: Browser): Engine {
  return {
    async open(url, viewport = DESKTOP) {
      const context = await browser.newContext({
        viewport,
        permissions: ["clipboard-read", "clipboard-write"],
      })
      context.setDefaultTimeout(WAIT_MS)
      const page = await context.newPage()
      await page.goto(url, { timeout: WAIT_MS })
      return {
        evaluate: (expression) => page.evaluate(expression),
        click: (selector) => page.locator(selector).click(),
        choose: (selector, ...files) => page.locator(selector).setInputFiles(files),
        async paste(selector) {
          await page.locator(selector).focus()
          await page.keyboard.press("Control+v")
        },
        close: () => context.close(),
      }
    },
    close: () => browser.close(),
  }
}

async function launchFirefox(): Promise<Engine> {
  const browser = await puppeteer.launch({
    browser: "firefox",
    executablePath: programPath("firefox-esr", "firefox"),
    timeout: WAIT_MS,
  })
  return {
    async open(url, size = DESKTOP) {
      const page = await browser.newPage()
      page.setDefaultTimeout(WAIT_MS)
      await page.setViewport(size)
      await page.goto(url)
      return {
        evaluate: <Value>(expression: string) => page.evaluate(expression) as Promise<Value>,
        click: (selector) => page.locator(selector).click(),
        async choose(selector, ...files) {
          const input = await page.$(selector)
          await (input as Awaited<ReturnType<typeof page.$<"input">>>)!.uploadFile(...files)
        },
        async paste(selector) {
          await page.focus(selector)
          await page.keyboard.down("Control")
          await page.keyboard.press("v")
          await page.keyboard.up("Control")
        },
        close: () => page.close(),
      }
    },
    close: () => browser.close(),
  }
}
