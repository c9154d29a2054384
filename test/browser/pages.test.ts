/** Pages with the codec and captures in the engines of Chrome, Firefox and Safari. */
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { temporaryDirectory } from "../support/packed.js"
import { builderNames, buildSite, prepareProject } from "./bundles.js"
import { type Engine, engines } from "./engines.js"
import { type Site, serve } from "./site.js"

const project = temporaryDirectory()
beforeAll(() => prepareProject(project.path))
afterAll(() => project[Symbol.dispose]())

describe.each(Object.keys(engines))("in %s", (engineName) => {
  let engine: Engine
  beforeAll(async () => {
    engine = await engines[engineName]!()
  })
  afterAll(() => engine?.close())

  const isShort = engineName !== "Chromium" && !process.env.BROWSER_ALL
  describe.each(isShort ? builderNames.slice(0, 1) : builderNames)(
    "a page made with %s",
    (name) => {
      let site: Site
      beforeAll(async () => {
        site = await serve(engine, await buildSite(project.path, name))
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
    },
  )

  test("without 'wasm-unsafe-eval' the page gets the browser's error, and does not hang", async () => {
    const site = await serve(
      engine,
      await buildSite(project.path, "a plain script"),
      "script-src 'self'",
    )
    const { error, message } = await site.open("bytes=1000")
    await site.close()
    expect(error).toBe("CompileError")
    expect(message).toMatch(/Content Security Policy|blocked by CSP/)
  })
})
