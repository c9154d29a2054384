/** Resources of a child process before, while and after it uses sockets, and their limits. */
import { mkdtempSync, readdirSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { expect } from "vitest"

import { type Child, inChild } from "../support/child.js"
import type { Memory, Resources } from "../support/child-main.mjs"

const MIB = 2 ** 20

export interface Snapshot extends Resources, Memory {}

export interface Snapshots {
  /** Before the first lz4+tcp:// endpoint. */
  first: Snapshot
  /** With endpoints, after some work. */
  early: Snapshot
  /** With the same endpoints, after a lot of it. */
  late: Snapshot
  /** Without endpoints. */
  last: Snapshot
}

/** Runs `work` in a child process with its own temporary directory, which must be empty at the end. */
export async function inTidyChild<Result, Argument>(
  work: (child: Child, argument: Argument) => Promise<Result>,
  argument: Argument,
): Promise<Result> {
  const directory = mkdtempSync(join(tmpdir(), "soak-"))
  try {
    const result = await inChild(work, argument, { TMPDIR: directory })
    expect(readdirSync(directory)).toEqual([])
    return result
  } finally {
    rmSync(directory, { recursive: true })
  }
}

/** Expects that nothing grows with the amount of work, and everything is freed with the sockets. */
export function expectNothingLeft({ first, early, late, last }: Snapshots): void {
  // There may be fewer: libzmq's threads end sockets some time later.
  for (const kind of ["descriptors", "threads", "active", "listeners"] as const)
    expect(late[kind], kind).toBeLessThanOrEqual(early[kind])
  // Each connection collects samples for its dictionary, of up to 1 MiB.
  expect(late.wasm - early.wasm).toBeLessThanOrEqual(MIB)
  expect(late.heap - early.heap).toBeLessThan(2 * MIB)
  expect(late.arrayBuffers - early.arrayBuffers).toBeLessThan(2 * MIB)
  expect(late.rss - early.rss).toBeLessThan(64 * MIB)
  for (const kind of ["descriptors", "threads", "active"] as const)
    expect(last[kind], kind).toBeLessThanOrEqual(first[kind])
}
