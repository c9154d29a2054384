/** Parts up to the limits of a browser: a correct result, or an explanatory error. */
import { afterAll, beforeAll, expect, test } from "vitest"
import { temporaryDirectory } from "../support/packed.js"
import { buildSite, prepareProject } from "./bundles.js"
import { type Engine, inChromium, launchChromium } from "./engines.js"
import { type Site, serve } from "./site.js"

const MIB = 2 ** 20
const GIB = 2 ** 30

const project = temporaryDirectory()
let browser: Engine
let site: Site
beforeAll(async () => {
  prepareProject(project.path)
  browser = inChromium(await launchChromium())
  site = await serve(browser, await buildSite(project.path, "a plain script"))
})
afterAll(async () => {
  await site?.close()
  await browser?.close()
  project[Symbol.dispose]()
})

test.each([
  [256 * MIB, "LZ4B"],
  [GIB + 1, "LZ4M"],
])("%d bytes", async (bytes, sentinel) => {
  const result = await site.open(`bytes=${bytes}`)
  expect(result).toMatchObject({ plainBytes: bytes, sentinel, same: true })
})

// Above the size limit of an array, the page cannot even create the text.
test.each([2 * GIB + 1, 16 * GIB])("%d bytes, or a clear error", async (bytes) => {
  const result = await site.open(`bytes=${bytes}`)
  if (result.error === undefined) expect(result).toMatchObject({ plainBytes: bytes, same: true })
  else {
    expect(result.error).toBe("RangeError")
    expect(result.message).toMatch(/memory|array length|allocation/i)
  }
})
