/** The plugins with which vitest loads modules of src/. */
import { readFileSync } from "node:fs"
import { CARRIED, carriedWasm } from "../../scripts/lib/carried-wasm.mjs"
import { threadWorkerCode } from "../../scripts/lib/thread-worker.mjs"

/** Gives the same as the build for the import of a .wasm file (its bytes), "thread-worker" and "curve-wasm" and the like. */
export const asInTheBuild = {
  name: "as-in-the-build",
  enforce: "pre" as const,
  resolveId: (id: string): string | undefined =>
    ["thread-worker", ...CARRIED].includes(id) ? id : undefined,
  load: async (id: string): Promise<string | undefined> => {
    if (id === "thread-worker") return `export default ${JSON.stringify(await threadWorkerCode())}`
    if (CARRIED.includes(id)) return `export default "${carriedWasm(id)}"`
    if (!id.endsWith(".wasm")) return undefined
    return `export default new Uint8Array(Buffer.from("${readFileSync(id, "base64")}", "base64"))`
  },
}

const standIns: Readonly<Record<string, string>> = {
  "/src/base/runtime.ts": "fakeable-runtime",
  "/src/transport/last-poll.ts": "polled",
}

/** Lets unit tests replace the clock of what they test, and say when the event loop polls. */
export const fakeable = {
  name: "fakeable",
  enforce: "pre" as const,
  load: (id: string): string | undefined => {
    const replaced = Object.keys(standIns).find((path) => id.endsWith(path))
    if (replaced === undefined) return undefined
    return readFileSync(new URL(`./${standIns[replaced]}.ts`, import.meta.url), "utf8")
  },
}
