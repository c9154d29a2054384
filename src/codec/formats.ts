/** The formats by name. The module of zstd is loaded with the first codec or endpoint that needs it. */
import { shown, wasmError, wrongValue } from "./errors.js"
import type { FormatName } from "./format.js"
import type { Format } from "./instance.js"
import { lz4 } from "./lz4/format.js"

interface Zstd {
  readonly zstd: Format
}

let known: Format | undefined

/** CommonJS has no promise: the build makes it a require(). */
const load = (): Zstd | Promise<Zstd> => import("./zstd/format.js")

/** @throws TypeError for names of no format. */
function checkName(name: unknown): FormatName {
  if (name === undefined) return "lz4"
  if (name !== "lz4" && name !== "zstd")
    throw wrongValue(`format must be "lz4" or "zstd"; got ${shown(name)}`)
  return name
}

/** Makes the format known without loading it. */
export function provideZstd(format: Format): void {
  known = format
}

/** Returns whether a format can be used synchronously, wherever this runs. */
export const isLoaded = (name: FormatName): boolean => name === "lz4" || known !== undefined

export async function loadFormat(name: unknown): Promise<Format> {
  if (checkName(name) === "lz4") return lz4
  known ??= (await load()).zstd
  return known
}

/** Returns the same synchronously. In pages and in Deno, zstd has to be loaded already. */
export function loadFormatSync(name: unknown): Format {
  if (checkName(name) === "lz4") return lz4
  if (known) return known
  const loaded = load()
  if (!("zstd" in loaded)) {
    loaded.catch(() => {}) // the caller gets an error anyway
    throw wasmError('format "zstd" is not loaded yet: the first codec needs Codec.create()')
  }
  known = loaded.zstd
  return known
}
