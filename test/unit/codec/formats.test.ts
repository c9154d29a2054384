/** The format "zstd" where it is loaded on first use, as in pages, and a file of it is gone. */
import { expect, onTestFinished, test, vi } from "vitest"
import { loadFormat, loadFormatSync } from "../../../src/codec/formats.js"

vi.mock("../../../src/codec/zstd/format.js", () => {
  throw new Error("a file is gone")
})

test("a format whose file is gone is refused, and no rejection is left unhandled", async () => {
  const unhandled = vi.fn()
  process.on("unhandledRejection", unhandled)
  onTestFinished(() => void process.off("unhandledRejection", unhandled))
  await expect(loadFormat("zstd")).rejects.toThrow()
  expect(() => loadFormatSync("zstd")).toThrow('format "zstd" is not loaded yet')
  await new Promise((resolve) => setTimeout(resolve, 10))
  expect(unhandled).not.toHaveBeenCalled()
})
