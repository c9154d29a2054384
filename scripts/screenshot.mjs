/** Makes the images of the inspector in the documents. See `--help`. */
import { mkdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { pathToFileURL } from "node:url"
import { readArgs } from "./lib/args.mjs"
import { launchChromium } from "./lib/chromium.mjs"
import * as paths from "./lib/paths.mjs"
import { fail } from "./lib/run.mjs"

const MAX_BYTES = 120_000
const SIZE = { width: 1280, height: 720 }

readArgs(
  `usage: node scripts/screenshot.mjs

Opens the sample in the inspector of dist/, in Chromium, with the details of a message from an arena. Writes
docs/images/inspector.webp in light colours, and inspector-dark.webp. Fails above ${MAX_BYTES} bytes each.`,
  {},
)

const directory = join(paths.root, "docs/images")
mkdirSync(directory, { recursive: true })
const browser = await launchChromium()
try {
  for (const colorScheme of /** @type {const} */ (["light", "dark"])) {
    const image = await webp(await screenshot(colorScheme))
    const file = join(directory, `inspector${colorScheme === "dark" ? "-dark" : ""}.webp`)
    console.log(`${paths.shown(file)}: ${image.length} bytes`)
    if (image.length > MAX_BYTES) fail(`more than ${MAX_BYTES} bytes`)
    writeFileSync(file, image)
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
 * Returns an image as WebP without loss, which has half the bytes of what browsers write as PNG.
 *
 * @param {Buffer} png
 */
async function webp(png) {
  const page = await browser.newPage()
  const url = await page.evaluate(async (base64) => {
    const response = await fetch(`data:image/png;base64,${base64}`)
    const image = await createImageBitmap(await response.blob())
    const canvas = Object.assign(document.createElement("canvas"), {
      width: image.width,
      height: image.height,
    })
    canvas.getContext("2d")?.drawImage(image, 0, 0)
    return canvas.toDataURL("image/webp", 1)
  }, png.toString("base64"))
  const [, base64] = url.split("data:image/webp;base64,")
  return base64 ? Buffer.from(base64, "base64") : fail("the browser does not write WebP")
}
