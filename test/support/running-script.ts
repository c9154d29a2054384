/** Processes whose output is read while they run, and that can be ended: scripts, and other programs. */
import { type ChildProcess, spawn } from "node:child_process"
import { once } from "node:events"
import { fileURLToPath } from "node:url"
import { afterEach } from "vitest"

export interface Ending {
  code: number | null
  signal: NodeJS.Signals | null
}

const root = fileURLToPath(new URL("../../", import.meta.url))
const running = new Set<ChildProcess>()

afterEach(() => {
  for (const process of running) process.kill("SIGKILL")
})

/** A process whose output is read line by line. It is killed after the test. */
export class Running {
  readonly process: ChildProcess
  readonly #ending: Promise<Ending>
  readonly #lines: string[] = []
  #errors = ""
  #changed: () => void = () => {}

  constructor(process: ChildProcess) {
    this.process = process
    running.add(process)
    let text = ""
    process.stdout?.on("data", (chunk) => {
      const lines = (text + chunk).split("\n")
      text = lines.pop() as string
      this.#lines.push(...lines)
      this.#changed()
    })
    process.stderr?.on("data", (chunk) => {
      this.#errors += chunk
    })
    this.#ending = once(process, "close").then(([code, signal]) => {
      running.delete(process)
      this.#changed()
      return { code, signal }
    })
  }

  get running(): boolean {
    return running.has(this.process)
  }

  /** The text that it wrote to standard error. */
  get errors(): string {
    return this.#errors
  }

  /** Returns the next line that it prints. */
  async line(): Promise<string> {
    while (this.#lines.length === 0) {
      if (!this.running) throw new Error(`the process ended: ${this.#errors.slice(-2000)}`)
      await new Promise<void>((resolve) => {
        this.#changed = resolve
      })
    }
    return this.#lines.shift() as string
  }

  /** Returns the lines that it has printed and nobody has read. */
  rest(): string[] {
    return this.#lines.splice(0)
  }

  /** Waits until it has ended, by itself or by a signal. */
  ended(): Promise<Ending> {
    return this.#ending
  }
}

/** Removes zeromq.js's warning that libzmq's threads take long to end, as on a busy machine or in Windows. */
export function withoutWarning(errors: string): string {
  return errors.replace(/^.*WARNING: Waiting for queued ZeroMQ messages.*\n?/m, "")
}

export const mark = "js: "
/**
 * Puts a mark before everything that a script's JavaScript writes to standard error. zeromq.js's addon
 * may warn there as well: on a busy machine, libzmq's threads can take more than 500 ms to end.
 */
export const marksErrors = `{ const { write } = process.stderr;
  process.stderr.write = (text, ...more) => write.call(process.stderr, "${mark}" + text, ...more) }`

/** The environment of a script that runs a module before it loads the package, which keeps the clock it finds. */
export const preloaded = (module: string): Record<string, string> => ({
  NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(module)}`,
})

/**
 * Slows the clock of a script once it exits: a process waits a second for peers that are silent, and a busy
 * machine may take as long to answer.
 */
export const slowExit = preloaded(`let exitMs = Number.POSITIVE_INFINITY;
  const now = performance.now.bind(performance);
  Performance.prototype.now = () => { const nowMs = now(); return nowMs < exitMs ? nowMs : exitMs + (nowMs - exitMs) / 100 };
  process.on("exit", () => { exitMs = now() });`)

/** Makes bytes that do not compress, the same in each run, for scripts: `noise(size)`. */
export const noise =
  'const noise = (await import("./bench/payloads.mjs")).payload.bind(undefined, "random");'

/**
 * Node 20 may hang at the end of a process that only uses zeromq.js (nodejs/node#54918). The package
 * prevents it for processes that use its own sockets; this does so for those that compare.
 */
const settles = `if (process.version.startsWith("v20."))
  process.on("exit", () => { for (const endMs = Date.now() + 20; Date.now() < endMs; ); });`

/** A running script. */
export class Script extends Running {
  /**
   * Starts the body of a module, with zeromq-lz4 as `zmq`, and `argument`. `descriptors` limits the
   * number of open files; `environment` is added to this process's. `input` is what it has as standard input,
   * `errors` where standard error goes instead, as an open file, and `flags` are options of Node.
   */
  constructor(
    source: string,
    argument: unknown,
    descriptors: number | "unlimited" = "unlimited",
    environment: Record<string, string> = {},
    {
      input = "ignore",
      errors = "pipe",
      flags = [],
    }: { input?: "ignore" | "pipe"; errors?: "pipe" | number; flags?: readonly string[] } = {},
  ) {
    const head =
      'import * as zmq from "zeromq-lz4"; const argument = JSON.parse(process.env.SCRIPT_ARGUMENT);'
    const plain = JSON.stringify(argument)?.includes('"tcp://') ? settles : ""
    const node = [
      process.execPath,
      ...flags,
      "--input-type=module",
      "--eval",
      head + plain + source,
    ]
    // Windows has no shell that could set a limit.
    const [program, ...args] =
      descriptors === "unlimited"
        ? node
        : ["sh", "-c", `ulimit -n ${descriptors}; exec "$@"`, "sh", ...node]
    super(
      spawn(program as string, args, {
        cwd: root,
        env: {
          ...process.env,
          ...environment,
          SCRIPT_ARGUMENT: JSON.stringify(argument),
        },
        stdio: [input, "pipe", errors],
      }),
    )
  }
}

/** A running script whose clock is slow once it exits. */
export class PatientScript extends Script {
  constructor(source: string, argument: unknown) {
    super(source, argument, "unlimited", slowExit)
  }
}
