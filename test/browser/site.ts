/** Serves a directory to Chromium and reads the results in its page. */
import { accessSync, constants, readFileSync } from "node:fs"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { delimiter, extname, join, normalize } from "node:path"
import { type Browser, chromium } from "playwright-core"

const types: Record<string, string> = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".wasm": "application/wasm",
}

/** Limit of each wait for the browser, which only ends tests that hang. */
export const WAIT_MS = 240_000

/** The minimum content security policy according to docs/codec.md. */
export const POLICY = "script-src 'self' 'wasm-unsafe-eval'"

/** The result of the round trip in the page. */
export interface Result {
  /** For a capture: the type of each event, and the message. */
  events?: unknown[][]
  plainBytes?: number
  wireBytes?: number
  sentinel?: string
  same?: boolean
  error?: string
  message?: string
}

export interface Site {
  /** Opens the page with a query and waits until it shows a result. */
  open(query: string): Promise<Result>
  close(): Promise<void>
}

/** @param policy value of the Content-Security-Policy header */
export async function serve(browser: Browser, directory: string, policy = POLICY): Promise<Site> {
  const server = createServer((request, response) => {
    const { pathname } = new URL(request.url ?? "/", "http://localhost")
    const file = join(directory, normalize(pathname === "/" ? "/index.html" : pathname))
    response.setHeader("Content-Security-Policy", policy)
    try {
      const body = readFileSync(file)
      response.setHeader("Content-Type", types[extname(file)] ?? "application/octet-stream")
      response.end(body)
    } catch {
      response.writeHead(404, { "Content-Type": "text/html" }).end("<!doctype html>Not found")
    }
  })
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  const { port } = server.address() as AddressInfo

  return {
    async open(query) {
      const page = await browser.newPage()
      try {
        const failure = new Promise<never>((_, reject) => {
          page.on("crash", () => reject(new Error("the page crashed")))
          page.on("pageerror", reject)
        })
        const result = page
          .goto(`http://127.0.0.1:${port}/?${query}`, { timeout: WAIT_MS })
          .then(() => page.locator("#result:not(:empty)").textContent({ timeout: WAIT_MS }))
        return JSON.parse((await Promise.race([result, failure])) ?? "") as Result
      } finally {
        await page.close()
      }
    },
    async close() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

export function launch(): Promise<Browser> {
  return chromium.launch({
    executablePath: chromiumPath(),
    timeout: WAIT_MS,
    // Gate machines run as root, and /dev/shm is small in containers.
    args: ["--no-sandbox", "--disable-dev-shm-usage"],
  })
}

function chromiumPath(): string {
  for (const name of ["chromium", "chromium-browser", "google-chrome"])
    for (const directory of (process.env.PATH ?? "").split(delimiter)) {
      const path = join(directory, name)
      try {
        accessSync(path, constants.X_OK)
        return path
      } catch {
        // The next one.
      }
    }
  throw new Error("Chromium is not on PATH: apt-get install chromium")
}
