/** Runs the command line as it ships, in this process: starting one takes longer than most commands. */
import { Console } from "node:console"
import { Readable, Writable } from "node:stream"
import { fileURLToPath } from "node:url"

export const main: string = fileURLToPath(new URL("../../dist/cli/main.js", import.meta.url))

/** The size of chunks of a pipe. */
const CHUNK_BYTES = 1 << 16

export interface CommandResult {
  status: number
  stdout: string
  stderr: string
}

/** Parses lines of JSON. */
// biome-ignore lint/suspicious/noExplicitAny: the content of a line is tested.
export const jsonLines = (stdout: string): any[] =>
  stdout
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line))

class Printed extends Writable {
  readonly #chunks: Buffer[] = []

  override _write(chunk: Buffer, _encoding: string, callback: () => void): void {
    this.#chunks.push(chunk)
    callback()
  }

  get text(): string {
    return Buffer.concat(this.#chunks).toString()
  }
}

function* chunksOf(bytes: Buffer): Generator<Buffer> {
  for (let at = 0; at < bytes.length; at += CHUNK_BYTES) yield bytes.subarray(at, at + CHUNK_BYTES)
}

let runs = 0

/** Runs a command in `directory`, with `input` as its standard input, until it ends. */
export async function runCommand(
  directory: string,
  args: readonly string[],
  input: string | Uint8Array = "",
): Promise<CommandResult> {
  const stdout = new Printed()
  const stderr = new Printed()
  const replaced = {
    argv: [process.execPath, main, ...args],
    stdin: Readable.from(chunksOf(Buffer.from(input)), { objectMode: false }),
    stdout,
    stderr,
  }
  const names = Object.keys(replaced) as (keyof typeof replaced)[]
  const kept = names.map((name) => Object.getOwnPropertyDescriptor(process, name))
  const { console } = globalThis
  const cwd = process.cwd()
  const interrupted = process.listeners("SIGINT")
  for (const name of names)
    Object.defineProperty(process, name, { value: replaced[name], configurable: true })
  globalThis.console = new Console(stdout, stderr)
  process.chdir(directory)
  process.exitCode = 0
  try {
    // A new query makes Node load the module again, which runs the program.
    await import(`${main}?run=${runs++}`)
    return { status: process.exitCode, stdout: stdout.text, stderr: stderr.text }
  } finally {
    process.exitCode = undefined
    process.chdir(cwd)
    globalThis.console = console
    for (const [i, name] of names.entries())
      Object.defineProperty(process, name, kept[i] as PropertyDescriptor)
    for (const listener of process.listeners("SIGINT"))
      if (!interrupted.includes(listener)) process.off("SIGINT", listener)
  }
}
