import type { Browser } from "playwright-core"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { temporaryDirectory } from "../support/packed.js"
import { builderNames, buildSite, prepareProject } from "./bundles.js"
import { launch, type Site, serve } from "./site.js"

const project = temporaryDirectory()
let browser: Browser
beforeAll(async () => {
  prepareProject(project.path)
  browser = await launch()
})
afterAll(async () => {
  await browser?.close()
  project[Symbol.dispose]()
})

describe.each(builderNames)("a page made with %s", (name) => {
  let site: Site
  beforeAll(async () => {
    site = await serve(browser, await buildSite(project.path, name))
  })
  afterAll(() => site?.close())

  test("encodes and decodes 100 KB with the embedded module", async () => {
    const result = await site.open("bytes=100000")
    expect(result).toMatchObject({ plainBytes: 100_000, sentinel: "LZ4B", same: true })
    expect(result.wireBytes).toBeLessThan(2000)
  })

  test("reads a capture", async () => {
    const { events } = await site.open("capture")
    expect(events).toEqual([
      ...[["connection"], ["handshake"]],
      ...[["message", "LZ4B", true], ["close"]],
    ])
  })

  test("loads the module from a URL", async () => {
    const result = await site.open("bytes=100000&wasm=zeromq-lz4.wasm")
    expect(result).toMatchObject({ same: true })
  })

  test("reports the URL that returned no module", async () => {
    const { error, message } = await site.open("bytes=1&wasm=missing.wasm")
    expect(error).toBe("TypeError")
    expect(message).toMatch(/missing\.wasm.*404/)
  })
})

test("without 'wasm-unsafe-eval' the page gets an error, and does not hang", async () => {
  const site = await serve(
    browser,
    await buildSite(project.path, "a plain script"),
    "script-src 'self'",
  )
  const { error, message } = await site.open("bytes=1000")
  await site.close()
  expect(error).toBe("CompileError")
  expect(message).toContain("Content Security Policy")
})
