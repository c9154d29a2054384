import { getSystemErrorMap } from "node:util"
import { Bridge, type BridgeHandlers, type BridgeSpec, type Joined } from "../bridge/bridge.js"
import { Totals } from "../bridge/totals.js"
import type { Traffic } from "../codec/codec.js"
import { ProtocolError } from "../codec/errors.js"
import { checkBudget, checkLz4Options, type Lz4Options, type Settings } from "../codec/options.js"
import type { ZmqError } from "../transport/zmq-error.js"
import { PARTS_MAX } from "../zmtp/session.js"
import { parse, wholeNumber } from "./args.js"
import { readDictionary } from "./dictionary.js"
import { InputError, UsageError } from "./errors.js"
import { count, printLine } from "./output.js"

export const usage = `usage: zeromq-lz4 bridge --from URL --to URL [options]

Lets any ZeroMQ program speak lz4+tcp://. Listens at --from, and connects to --to for each
connection that comes. One of the two is lz4+tcp://HOST:PORT, the other tcp://HOST:PORT or
ipc://PATH.

      --from URL                where to listen; HOST and PORT may be *
      --to URL                  where to connect to
      --max-message-size BYTES  the maximum plaintext of one message that comes over lz4+tcp://;
                                default 134217728 (128 MiB); -1: no limit
      --max-plain-message-size BYTES
                                the same for what comes over tcp:// or ipc://
      --max-parts N             the maximum parts of one message, either way; default 65536
      --max-connections N       the maximum connections at a time; more are closed as they come;
                                default 1000
      --dictionary FILE         a dictionary to compress with: zeromq-lz4 train makes one
      --auto-dictionary         trains one on the first messages
      --min-compress-size BYTES shorter parts go plain; default 512, 128 with a dictionary
      --acceleration N          1 to 65537: higher is faster and compresses less; default 1
      --level N                 0: LZ4 (default); 3 to 12: LZ4HC, slower, compresses more;
                                adaptive: chosen for each connection; none: nothing is compressed
      --arenas                  sends small messages together; to peers that read revision 2
      --revision N              the revision of the format that is accepted, 1 or 2; default 2
      --stats[=SECONDS]         a line of statistics every SECONDS; default 5
  -h, --help                    this text

"sent" is what went out over lz4+tcp://. While --to cannot be reached, connections are closed as
they come; ZeroMQ reconnects by itself. SIGINT and SIGTERM stop listening and end connections when
what was under way is through, after 5 seconds at most; a second one ends at once.

A side that goes beyond a limit loses its connection, and a line says which. A message may be held in
memory as a whole, so on a small machine lower both sizes and --max-connections.`

const MESSAGE_MAX_BYTES = 128 * 1024 * 1024
const CONNECTIONS_MAX = 1000
/** More open files than a process can have. */
const COUNT_MAX = 2 ** 31 - 1

const STATS_SECONDS = "5"
const STATS_SECONDS_MAX = 86_400
/** How long connections may take to end. */
const DRAIN_MS = 5000

export async function bridge(args: string[]): Promise<void> {
  const { spec, statsSeconds } = readArgs(args)
  const report = new Report(spec)
  const bridge = orUsageError(() => new Bridge(spec, report))
  const signalled = firstSignal()
  process.stdout.on("error", () => {}) // it goes on when its output is no longer read
  try {
    const endpoint = await bridge.start()
    printLine(`listening on ${endpoint}, connecting to ${spec.to}`)
  } catch (error) {
    throw new InputError(`cannot listen on ${spec.from}: ${words(error)}`)
  }
  const stats = statsSeconds === undefined ? undefined : report.repeatStatistics(statsSeconds)
  printLine(`${await signalled}: ending`)
  clearInterval(stats)
  await bridge.drain(DRAIN_MS)
}

/** SIGINT or SIGTERM. The second one does what it does to any process. */
function firstSignal(): Promise<string> {
  return new Promise((resolve) => {
    const signals = ["SIGINT", "SIGTERM"] as const
    const received = (signal: string) => {
      for (const each of signals) process.off(each, received)
      resolve(signal)
    }
    for (const each of signals) process.on(each, received)
  })
}

// -- Arguments ---------------------------------------------------------------------

function readArgs(args: string[]): { spec: BridgeSpec; statsSeconds: number | undefined } {
  const { values } = parse({
    // The value is optional, which parseArgs does not know.
    args: args.map((arg) => (arg === "--stats" ? `--stats=${STATS_SECONDS}` : arg)),
    options: {
      from: { type: "string" },
      to: { type: "string" },
      "max-message-size": { type: "string" },
      "max-plain-message-size": { type: "string" },
      "max-parts": { type: "string" },
      "max-connections": { type: "string" },
      dictionary: { type: "string" },
      "auto-dictionary": { type: "boolean" },
      "min-compress-size": { type: "string" },
      acceleration: { type: "string" },
      level: { type: "string" },
      arenas: { type: "boolean" },
      revision: { type: "string" },
      stats: { type: "string" },
    },
  })
  const { from, to } = values
  if (from === undefined) throw new UsageError("--from URL says where to listen")
  if (to === undefined) throw new UsageError("--to URL says where to connect to")
  const statsSeconds = wholeNumber("--stats", values.stats)
  if (statsSeconds !== undefined && (statsSeconds < 1 || statsSeconds > STATS_SECONDS_MAX))
    throw new UsageError(`--stats must be 1 to ${STATS_SECONDS_MAX} seconds; got ${statsSeconds}`)
  const number = (name: NumberOption) => wholeNumber(`--${name}`, values[name])
  const limit = (name: NumberOption, usual: number, min: number, max: number) => {
    const value = number(name) ?? usual
    if (value < min || value > max)
      throw new UsageError(`--${name} must be ${min} to ${max}; got ${value}`)
    return value
  }
  const options = {
    autoDictionary: values["auto-dictionary"],
    minCompressSize: number("min-compress-size"),
    acceleration: number("acceleration"),
    level: levelOf(values.level),
    arenas: values.arenas,
    revision: number("revision"),
    dictionary: values.dictionary === undefined ? undefined : readDictionary(values.dictionary),
  } as Lz4Options
  const settings = checkOptions(options, number("max-message-size") ?? MESSAGE_MAX_BYTES)
  const limits = {
    maxBytes: limit("max-plain-message-size", MESSAGE_MAX_BYTES, -1, Number.MAX_SAFE_INTEGER),
    maxParts: limit("max-parts", PARTS_MAX, 1, COUNT_MAX),
  }
  const maxConnections = limit("max-connections", CONNECTIONS_MAX, 1, COUNT_MAX)
  return { spec: { from, to, settings, limits, maxConnections }, statsSeconds }
}

type NumberOption =
  | "max-message-size"
  | "max-plain-message-size"
  | "max-parts"
  | "max-connections"
  | "min-compress-size"
  | "acceleration"
  | "revision"

function levelOf(value: string | undefined): Lz4Options["level"] {
  if (value === "none" || value === "adaptive") return value
  // Which numbers are levels is checked with all other options.
  return wholeNumber("--level", value, ', "none" or "adaptive"') as Lz4Options["level"]
}

/** Checks options; what is wrong is said of the command line's. */
function checkOptions(options: Lz4Options, maxMessageSize: number | undefined): Settings {
  try {
    return checkLz4Options(options, checkBudget(maxMessageSize))
  } catch (error) {
    const names = new RegExp(
      `\\b(${[...Object.keys(options), "maxMessageSize"].join("|")})\\b`,
      "g",
    )
    throw new UsageError((error as Error).message.replace(names, flag))
  }
}

/** The option of the command line for one of the package's. */
const flag = (name: string) => `--${name.replace(/[A-Z]/g, (c) => `-${c.toLowerCase()}`)}`

/** An endpoint of the wrong form is wrong usage; one that this machine does not have is not. */
function orUsageError<T>(make: () => T): T {
  try {
    return make()
  } catch (error) {
    const { code, message, address } = error as ZmqError
    if (code === "EINVAL")
      throw new UsageError(`${message.replace("Invalid argument: ", "")}; ${EXPECTED}`)
    if (code === "ENODEV") throw new InputError(`${address}: ${words(error)}`)
    throw error
  }
}

// -- Reports -----------------------------------------------------------------------

/** Prints what happens. */
export class Report implements BridgeHandlers {
  readonly #to: string
  readonly #maxConnections: number
  readonly #totals = new Totals()
  #open = 0
  /** Said once, and not for each attempt that fails like the last one. */
  #unreachable: string | undefined
  #full = false

  constructor({ to, maxConnections }: Pick<BridgeSpec, "to" | "maxConnections">) {
    this.#to = to
    this.#maxConnections = maxConnections
  }

  joined({ number, from, to, counts }: Joined): void {
    this.#open++
    this.#totals.begin(number, counts)
    this.#unreachable = undefined
    printLine(`#${number} connected: ${from} to ${to}`)
  }

  failed({ number }: Joined, side: string, error: Error): void {
    const what = error instanceof ProtocolError ? "protocol error" : "error"
    const why = error.message.replace(/\bmax(PlainMessageSize|MessageSize|Parts)\b/g, flag)
    printLine(`#${number} ${what} by ${side}: ${why}`)
  }

  ended({ number, counts }: Joined, error: Error | undefined): void {
    this.#open--
    this.#full = false
    this.#totals.end(number)
    const why = error && !(error instanceof ProtocolError) ? ` (${words(error)})` : ""
    const { sent, received } = counts()
    printLine(`#${number} closed${why}: ${flow("sent", sent)}; ${flow("received", received)}`)
  }

  unreachable(from: string, error: Error): void {
    const line = `cannot connect to ${this.#to}: ${words(error)}`
    if (line !== this.#unreachable) printLine(`${line}; closed ${from}`)
    this.#unreachable = line
  }

  full(from: string): void {
    if (!this.#full)
      printLine(
        `there are ${this.#maxConnections} connections, which is --max-connections; closed ${from}`,
      )
    this.#full = true
  }

  /** A line every so many seconds, of what went through since the one before. */
  repeatStatistics(seconds: number): NodeJS.Timeout {
    let before = this.#read()
    return setInterval(() => {
      const now = this.#read()
      const flows = (["sent", "received"] as const).map((way) =>
        flow(way, rate(before[way], now[way], seconds), "/s"),
      )
      before = now
      printLine(`connections: ${this.#open}; ${flows.join("; ")}`)
    }, seconds * 1000)
  }

  #read(): Record<"sent" | "received", Traffic> {
    return { sent: this.#totals.total("sent"), received: this.#totals.total("received") }
  }
}

function rate(before: Traffic, now: Traffic, seconds: number): Traffic {
  const perSecond = (name: keyof Traffic) => Math.round((now[name] - before[name]) / seconds)
  return {
    messages: perSecond("messages"),
    plainBytes: perSecond("plainBytes"),
    wireBytes: perSecond("wireBytes"),
  }
}

/** What went one way, `per` some time or altogether. */
function flow(way: string, { messages, plainBytes, wireBytes }: Traffic, per = ""): string {
  const ratio = wireBytes > 0 ? ` (${(plainBytes / wireBytes).toFixed(2)} ×)` : ""
  return `${way} ${count(messages, "message")}${per}, ${plainBytes} bytes${per} as ${wireBytes}${per} on the wire${ratio}`
}

const EXPECTED = "expected HOST:PORT; only --from may have *"

/** An error in words: those of the system say little more than a code. */
function words(error: unknown): string {
  const { code, message, syscall } = error as NodeJS.ErrnoException
  if (code === "ENODEV") return "there is no interface, address or host of that name"
  if (message && !syscall) return message
  for (const [name, meaning] of getSystemErrorMap().values()) if (name === code) return meaning
  return message
}
