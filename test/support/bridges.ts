/** Chains of bridges between a bound endpoint and the endpoint to connect to. */
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { onTestFinished } from "vitest"

import { RunningBridge } from "./running-bridge.js"

/** The scheme of one leg of a chain. */
export type Leg = "lz4+tcp" | "zstd+tcp" | "tcp" | "ipc"

/** Chains from the connecting to the bound end, in which plain legs and compressed ones alternate. */
export const ways: readonly (readonly Leg[])[] = [
  ["tcp", "lz4+tcp"],
  ["ipc", "lz4+tcp"],
  ["lz4+tcp", "tcp"],
  ["lz4+tcp", "ipc"],
  ["tcp", "lz4+tcp", "ipc"],
  ["ipc", "lz4+tcp", "tcp"],
  ["tcp", "zstd+tcp"],
  ["zstd+tcp", "tcp"],
  ["zstd+tcp", "tcp", "zstd+tcp"],
]

/** Returns an endpoint to listen at: any port, or a path that is deleted after the test. */
export function anyEndpoint(leg: Leg): string {
  if (leg !== "ipc") return `${leg}://127.0.0.1:0`
  const directory = mkdtempSync(join(tmpdir(), "zeromq-lz4-ipc-"))
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }))
  return `ipc://${join(directory, "socket")}`
}

/** Starts the bridges of a chain to a bound endpoint. Returns the endpoint to connect to. */
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
