/** Serves a directory to a browser and reads the results in its page. */
import { readFileSync } from "node:fs"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { extname, join, normalize } from "node:path"
import { type Engine, until } from "./engines.js"

const types: Record<string, string> = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".wasm": "application/wasm",
}

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
export async function serve(engine: Engine, directory: string, policy = POLICY): Promise<Site> {
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
      const page = await engine.open(`http://127.0.0.1:${port}/?${query}`)
      try {
        const result = await until<string>(page, "document.querySelector('#result').textContent")
        return JSON.parse(result) as Result
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
