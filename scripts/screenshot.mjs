/** Makes the images of the inspector in the documents. See `--help`. */
import { mkdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { pathToFileURL } from "node:url"
import { chromium } from "playwright-core"
import { readArgs } from "./lib/args.mjs"
import { onPath } from "./lib/files.mjs"
import { palettePng } from "./lib/palette-png.mjs"
import * as paths from "./lib/paths.mjs"
import { fail } from "./lib/run.mjs"

const MAX_BYTES = 80_000
const SIZE = { width: 1280, height: 720 }

readArgs(
  `usage: node scripts/screenshot.mjs

Opens the sample in the inspector of dist/, in Chromium, with the details of a message from an arena. Writes
docs/images/inspector.png in light colours, and inspector-dark.png. Fails above ${MAX_BYTES} bytes each.`,
  {},
)
const executablePath = process.env.CHROMIUM ?? onPath("chromium", "chromium-browser")
if (!executablePath) fail("chromium is not on PATH: apt-get install chromium")

const directory = join(paths.root, "docs/images")
mkdirSync(directory, { recursive: true })
const browser = await chromium.launch({
  executablePath,
  args: ["--no-sandbox", "--disable-dev-shm-usage"],
})
try {
  for (const colorScheme of /** @type {const} */ (["light", "dark"])) {
    const png = palettePng(await pixels(await screenshot(colorScheme)), SIZE.width)
    const file = join(directory, `inspector${colorScheme === "dark" ? "-dark" : ""}.png`)
    console.log(`${paths.shown(file)}: ${png.length} bytes`)
    if (png.length > MAX_BYTES) fail(`more than ${MAX_BYTES} bytes`)
    writeFileSync(file, png)
  }
} finally {
  await browser.close()
}

/** @param {"light" | "dark"} colorScheme */
async function screenshot(colorScheme) {
  const page = await browser.newPage({ viewport: SIZE, colorScheme, timezoneId: "UTC" })
  await page.goto(pathToFileURL(join(paths.root, "dist/inspector.html")).href)
  await page.locator(".welcome .load-sample").click()
  await page.locator("[data-phase=done]").waitFor()
  // Before the first arena, after a second.
  await page.locator("#filter").fill("kind=message time>1s")
  await page.locator("#matches").filter({ hasText: " of " }).waitFor()
  await page.locator(".row", { hasText: "LZ4A" }).nth(2).click()
  await page.locator("#parts[aria-busy=false] pre").waitFor()
  return page.screenshot()
}

/**
 * Returns the pixels of an image, of 4 bytes each, which a browser can decode.
 *
 * @param {Buffer} png
 */
async function pixels(png) {
  const page = await browser.newPage()
  const base64 = await page.evaluate(async (base64) => {
    const response = await fetch(`data:image/png;base64,${base64}`)
    const image = await createImageBitmap(await response.blob())
    const { width, height } = image
    const context = /** @type {OffscreenCanvasRenderingContext2D} */ (
      new OffscreenCanvas(width, height).getContext("2d")
    )
    context.drawImage(image, 0, 0)
    const { data } = context.getImageData(0, 0, width, height)
    let text = ""
    for (let at = 0; at < data.length; at += 8192)
      text += String.fromCharCode(...data.subarray(at, at + 8192))
    return btoa(text)
  }, png.toString("base64"))
  return Buffer.from(base64, "base64")
}
