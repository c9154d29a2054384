/** Runs work in a separate process, where memory can be measured and can run out. */
import { spawn } from "node:child_process"
import { fileURLToPath } from "node:url"

import type { CaptureReader } from "zeromq-lz4/capture"
import type { Codec, ProtocolError } from "zeromq-lz4/codec"

import type { Memory, Resources } from "./child-main.mjs"

/** The argument of the work. */
export interface Child {
  CaptureReader: typeof CaptureReader
  Codec: typeof Codec
  ProtocolError: typeof ProtocolError
  /** Returns the bytes in use, after a garbage collection. */
  memory(): Promise<Memory>
  /** Returns the bytes in use, including garbage. */
  memoryNow(): Memory
  /** Returns the exports of the module's instance that all codecs share. */
  sharedExports(): { memory: WebAssembly.Memory; zl_scratch(region: number, bytes: number): number }
  /** Returns the number of instances of the module so far. */
  instancesMade(): number
  /** Leaves less than a page free in the memory of that instance, so that a leak makes it grow. */
  fillWasmMemory(): void
  /** Returns the module of small-blocks.ts. */
  smallBlocks(): WebAssembly.Module
  /** Returns the package, with its sockets. */
  sockets(): Promise<typeof import("zeromq-lz4")>
  /** Waits for a condition, for some minutes at most. */
  until(condition: () => boolean): Promise<void>
  /** Returns the resources in use. Waits some minutes at most until they are no more than `before`. */
  snapshot(before?: Resources): Promise<Memory & Resources>
}

const main = fileURLToPath(new URL("child-main.mjs", import.meta.url))
const root = fileURLToPath(new URL("../../", import.meta.url))

/**
 * Runs `work` in a new process and returns its result. The function is sent as text, so it can only
 * use its arguments and Node's globals. The argument and the result are cloned.
 */
export function inChild<Result, Argument = undefined>(
  work: (child: Child, argument: Argument) => Result | Promise<Result>,
  argument?: Argument,
  environment: Record<string, string> = {},
): Promise<Result> {
  const child = spawn(process.execPath, ["--expose-gc", main], {
    cwd: root,
    env: { ...process.env, ...environment },
    stdio: ["ignore", "inherit", "pipe", "ipc"],
    serialization: "advanced",
  })
  return new Promise((resolve, reject) => {
    let errors = ""
    let answer: { result: Result } | undefined
    child.stderr?.on("data", (text) => {
      errors += text
    })
    child.on("message", (message) => {
      answer = message as { result: Result }
    })
    child.on("error", reject)
    child.on("close", (code, signal) => {
      if (answer) resolve(answer.result)
      else reject(new Error(`the child ended with ${signal ?? code}: ${errors.slice(-2000)}`))
    })
    child.send({ source: String(work), argument })
  })
}
