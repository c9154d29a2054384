/** Work in a process of its own, where memory can be measured and run out. */
import { spawn } from "node:child_process"
import { fileURLToPath } from "node:url"

import type { CaptureReader } from "zeromq-lz4/capture"
import type { Codec, ProtocolError } from "zeromq-lz4/codec"

import type { Memory, Resources } from "./child-main.mjs"

/** What the work is given. */
export interface Child {
  CaptureReader: typeof CaptureReader
  Codec: typeof Codec
  ProtocolError: typeof ProtocolError
  /** Bytes in use, after a collection. */
  memory(): Promise<Memory>
  /** The same as it is, garbage included. */
  memoryNow(): Memory
  /** The exports of the instance of the module that all codecs share. */
  sharedExports(): { memory: WebAssembly.Memory; zl_scratch(region: number, bytes: number): number }
  /** Leaves less than a page free in the memory of that instance, so that a leak makes it grow. */
  fillWasmMemory(): void
  /** The build of small-blocks.ts. */
  smallBlocks(): WebAssembly.Module
  /** The package, with its sockets. */
  sockets(): Promise<typeof import("zeromq-lz4")>
  /** Waits for something, for a minute at most. */
  until(condition: () => boolean): Promise<void>
  /** What is in use; waits, for some seconds at most, until it is no more than `before`. */
  snapshot(before?: Resources): Promise<Memory & Resources>
}

const main = fileURLToPath(new URL("child-main.mjs", import.meta.url))
const root = fileURLToPath(new URL("../../", import.meta.url))

/**
 * Runs `work` in a new process and returns what it returns. The function is sent as text, so it
 * can use nothing but its arguments and Node's globals; the argument and the result are cloned.
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
