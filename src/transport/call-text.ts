/**
 * Calls to the thread of the links, as text. To write objects into a message, V8 takes 8 KiB for a
 * moment; what is left behind them touches a page in the middle of the queue that libzmq allocates
 * for a connection next and never fills. Each idle connection would keep that page in memory.
 */
import type { Call } from "./thread.js"

/** What JSON has no form for: a dictionary. */
interface Bytes {
  base64: string
}

export function writeCall(call: Call): string {
  return JSON.stringify(call, (_key, value) =>
    value instanceof Uint8Array
      ? ({ base64: Buffer.from(value).toString("base64") } satisfies Bytes)
      : value,
  )
}

export function readCall(text: string): Call {
  return JSON.parse(text, (_key, value) =>
    value?.base64 === undefined
      ? value
      : new Uint8Array(Buffer.from((value as Bytes).base64, "base64")),
  )
}
