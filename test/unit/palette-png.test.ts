/** The images of the documents. */
import { inflateSync } from "node:zlib"
import { expect, test } from "vitest"
import { palettePng } from "../../scripts/lib/palette-png.mjs"

/** Returns the chunks of an image, by type. */
function chunksOf(png: Buffer): Map<string, Buffer> {
  const chunks = new Map<string, Buffer>()
  for (let at = 8; at < png.length; ) {
    const end = at + 8 + png.readUInt32BE(at)
    chunks.set(png.toString("latin1", at + 4, at + 8), png.subarray(at + 8, end))
    at = end + 4
  }
  return chunks
}

/** Returns the colours of an image's pixels, in hexadecimal. */
function coloursOf(png: Buffer): string[] {
  const chunks = chunksOf(png)
  const width = chunks.get("IHDR")!.readUInt32BE(0)
  const palette = chunks.get("PLTE")!
  return [...inflateSync(chunks.get("IDAT")!)]
    .filter((_, i) => i % (1 + width) > 0)
    .map((index) => palette.toString("hex", 3 * index, 3 * index + 3))
}

const pixels = (colours: readonly string[]): Buffer =>
  Buffer.from(colours.map((colour) => `${colour}ff`).join(""), "hex")

test("an image has the colours that it had, line by line", () => {
  const colours = ["000000", "ff0000", "00ff00", "ff0000", "123456", "ffffff"]
  expect(coloursOf(palettePng(pixels(colours), 3))).toEqual(colours)
})

test("beyond 256 colours, the rare ones become the nearest of the others", () => {
  const greys = Array.from({ length: 256 }, (_, i) => i.toString(16).padStart(2, "0").repeat(3))
  const colours = [...greys, ...greys, "404140", "fe0000"]
  const shown = coloursOf(palettePng(pixels(colours), 2))
  expect(shown.slice(0, -2)).toEqual(colours.slice(0, -2))
  expect(shown.at(-2)).toBe("404040")
})
