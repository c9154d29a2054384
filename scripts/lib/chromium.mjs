import { chromium } from "playwright-core"
import { programPath } from "./files.mjs"

/**
 * Starts the Chromium of the environment variable CHROMIUM, or of PATH.
 *
 * @param {{ timeout?: number }} [options] timeout in milliseconds
 */
export function launchChromium(options) {
  const names = /** @type {const} */ (["chromium", "chromium-browser", "google-chrome"])
  return chromium.launch({
    ...options,
    executablePath: process.env.CHROMIUM ?? programPath(...names),
    // As root it needs the first; in a container, where /dev/shm is small, the second.
    args: ["--no-sandbox", "--disable-dev-shm-usage"],
  })
}
