/** Bridges in a row, between an endpoint that is bound and one to connect to. */
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { onTestFinished } from "vitest"

import { RunningBridge } from "./running-bridge.js"

/** What one leg of the way is. */
export type Leg = "lz4+tcp" | "tcp" | "ipc"

/** From who connects to who binds: plain ones and lz4+tcp in turn. */
export const ways: readonly (readonly Leg[])[] = [
  ["tcp", "lz4+tcp"],
  ["ipc", "lz4+tcp"],
  ["lz4+tcp", "tcp"],
  ["lz4+tcp", "ipc"],
  ["tcp", "lz4+tcp", "ipc"],
  ["ipc", "lz4+tcp", "tcp"],
]

/** Where one can listen: any port, or a path that goes with the test. */
export function anyEndpoint(leg: Leg): string {
  if (leg !== "ipc") return `${leg}://127.0.0.1:0`
  const directory = mkdtempSync(join(tmpdir(), "zeromq-lz4-ipc-"))
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }))
  return `ipc://${join(directory, "socket")}`
}

/** Starts the bridges of a way to a bound endpoint; returns where to connect to. */
export async function bridgesTo(
  bound: string,
  way: readonly Leg[],
  ...options: string[]
): Promise<string> {
  let endpoint = bound
  for (const leg of way.slice(0, -1).reverse()) {
    const { endpoint: next } = await RunningBridge.start(anyEndpoint(leg), endpoint, ...options)
    endpoint = next
  }
  return endpoint
}
