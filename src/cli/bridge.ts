import { clearInterval } from "../base/runtime.js"
import { Bridge, type BridgeSpec } from "../bridge/bridge.js"
import { loadFormat } from "../codec/formats.js"
import { PARTS_MAX } from "../codec/frames.js"
import { checkBudget, checkLz4Options, type Lz4Options } from "../codec/options.js"
import { underCurve } from "../curve/compression.js"
import { formatOf, isOurs } from "../transport/address.js"
import type { ZmqError } from "../transport/zmq-error.js"
import { bridgeLog, flag, Report } from "./bridge-report.js"
import { type Command, command, parse, type Values, wholeNumber } from "./command.js"
import { describeCurve, isKey, looksLikeKey, readCurve } from "./curve-keys.js"
import { readDictionary } from "./dictionary.js"
import { errorText, InputError, orInputError, UsageError } from "./errors.js"
import { firstSignal } from "./signals.js"

const OPTIONS = {
  "--from URL": "where to listen; HOST and PORT may be *",
  "--to URL": "where to connect to",
  "--max-message-size BYTES":
    "maximum plaintext of one message received over lz4+tcp:// or zstd+tcp://; default 134217728 (128 MiB); -1: no limit",
  "--max-plain-message-size BYTES": "the same for messages received over tcp:// or ipc://",
  "--max-parts N": "maximum number of parts of a message, either way; default 65536",
  "--max-connections N":
    "maximum number of open connections; default 1000. For another one, the oldest is closed whose handshake is not over",
  "--dictionary FILE": "a dictionary to compress with: zeromq-lz4 train makes one",
  "--auto-dictionary[=shared]":
    "trains a dictionary for each connection on the first messages that it is sent; shared: one for all, so each peer can read pieces of messages to the others",
  "--min-compress-size BYTES":
    "shorter parts go plain; default 512; with a dictionary 128, over zstd+tcp:// 64",
  "--acceleration N": "over lz4+tcp:// 1 to 65537: higher is faster and compresses less; default 1",
  "--level N":
    "over lz4+tcp:// 0: LZ4 (default); 3 to 12: LZ4HC, slower, compresses more; over zstd+tcp:// -7 to 9, default 1; adaptive: chosen for each connection; none: nothing is compressed",
  "--arenas": "sends small messages together; only for peers that read revision 2",
  "--revision N": "the format revision that is accepted, 1 or 2; default 2",
  "--from-curve-server, --to-curve-server":
    "CURVE, ZeroMQ's encryption, with the bridge as the server for peers at --from or at --to: it needs a secret key",
  "--from-server-key KEY, --to-server-key KEY":
    "CURVE with the bridge as the client: KEY is the public key of the server there, or a file with it. Without a secret key of its own, the bridge makes a pair each time it starts",
  "--from-secret-key FILE, --to-secret-key FILE":
    "a file with the bridge's secret key, as zeromq-lz4 keygen makes it; or set CURVE_SECRET_KEY, CURVE_FROM_SECRET_KEY or CURVE_TO_SECRET_KEY in the environment",
  "--from-client-keys FILE, --to-client-keys FILE":
    "with the bridge as the server, a file with the public keys of the clients that it accepts, one on each line; otherwise it accepts every client that knows the bridge's public key",
  "--stats[=SECONDS]": "prints a line of statistics every SECONDS; default 5",
  "--metrics HOST:PORT":
    "serves metrics for Prometheus over HTTP at /metrics, and whether the bridge works at /health; HOST and PORT may be *",
  "--json": "prints each line as a JSON object: see docs/bridge.md",
} as const

type BridgeValues = Values<typeof OPTIONS>

/** A key may begin with a dash. */
const isValue = (arg: string, option: string): boolean =>
  /^--(from|to)-server-key$/.test(option) && isKey(arg)

export const bridge: Command = command({
  synopsis: "bridge --from URL --to URL [options]",
  summary: "let any ZeroMQ program speak lz4+tcp:// or zstd+tcp://",
  about: `Lets any ZeroMQ program speak lz4+tcp:// or zstd+tcp://. Listens at --from, and connects to --to
for each peer that connects. One of the two is lz4+tcp://HOST:PORT or zstd+tcp://HOST:PORT, the other
tcp://HOST:PORT or ipc://PATH.`,
  options: OPTIONS,
  notes: `Each line begins with the time (UTC). "sent" is what is sent compressed. If its output is
closed, the bridge continues silently. As a service, start it with node, not with npx, which does
not pass SIGTERM on: see docs/bridge.md.

While --to cannot be reached, connections are closed at once; ZeroMQ reconnects by itself. On SIGINT
or SIGTERM, the bridge stops listening and ends its connections once messages in transit are
delivered, after at most 5 seconds; a second signal ends it at once.

With CURVE, nothing is compressed unless --level, --acceleration, --dictionary or
--auto-dictionary is given, because lengths tell observers about content: see docs/curve.md.

A side that exceeds a limit loses its connection, and a line says which limit. A message may be held
in memory as a whole, so on a small machine lower both sizes and --max-connections.`,
  isValue,
  run: async (values, positionals) => runBridge(await argumentsOf(values, positionals)),
})

const MESSAGE_MAX_BYTES = 128 * 1024 * 1024
const CONNECTIONS_MAX = 1000
/** More than the number of files that a process can have open. */
const COUNT_MAX = 2 ** 31 - 1

const STATS_SECONDS = "5"
const STATS_SECONDS_MAX = 86_400
const DRAIN_MS = 5000

async function runBridge(given: BridgeArguments): Promise<void> {
  const { spec, isLevelChosen, statsSeconds, metrics, json } = given
  const log = bridgeLog(json)
  const report = new Report(spec, log)
  const bridge = orInputError(() => new Bridge(spec, report), endpointError)
  const signalled = firstSignal()
  // A service continues when its output is no longer read.
  for (const stream of [process.stdout, process.stderr]) stream.on("error", () => {})
  const { to } = spec
  const server = metrics === undefined ? undefined : await startMetrics(metrics, report, spec)
  try {
    const endpoint = await bridge.start()
    for (const side of ["from", "to"] as const) {
      const curve = spec[`${side}Curve`]
      if (!curve) continue
      const { words, fields } = describeCurve(side, curve)
      log("curve", words, fields)
    }
    if (server) {
      const [at, health] = [`${server.url}/metrics`, `${server.url}/health`]
      log("metrics", `metrics at ${at}, health at ${health}`, { metrics: at, health })
    }
    log("listening", `listening on ${endpoint}, connecting to ${to}`, { endpoint, to })
  } catch (error) {
    server?.close()
    throw new InputError(`cannot listen on ${spec.from}: ${errorText(error)}`)
  }
  const advice = report.repeatAdvice(spec.settings, isLevelChosen)
  const stats = statsSeconds === undefined ? undefined : report.repeatStatistics(statsSeconds)
  const signal = await signalled
  log("ending", `${signal}: ending`, { signal })
  clearInterval(stats)
  clearInterval(advice)
  report.ending()
  await bridge.drain(DRAIN_MS)
  server?.close()
}

/** Loads HTTP, which no other bridge needs, and starts to serve. */
async function startMetrics(address: string, report: Report, { from, to }: BridgeSpec) {
  const { serveMetrics } = await import("./bridge-metrics.js")
  return serveMetrics(address, { from, to }, () => report.state)
}

function trainingOf(value: string | undefined): boolean | "shared" {
  if (value === undefined || value === "") return value === ""
  if (value === "shared") return value
  throw new UsageError(`--auto-dictionary has no value, or is shared; got ${value}`)
}

export interface BridgeArguments {
  spec: BridgeSpec
  /** Whether the user has said how to compress. */
  isLevelChosen: boolean
  statsSeconds: number | undefined
  metrics: string | undefined
  json: boolean
}

/** Reads the arguments, and the files that they name. */
export function readArgs(args: readonly string[]): Promise<BridgeArguments> {
  const { values, positionals } = parse({ options: OPTIONS, isValue }, args)
  return argumentsOf(values, positionals)
}

async function argumentsOf(
  values: BridgeValues,
  positionals: readonly string[],
): Promise<BridgeArguments> {
  const [extra] = positionals
  if (extra !== undefined)
    throw new UsageError(
      looksLikeKey(extra)
        ? "there is a key without an option: --from-curve-server and --to-curve-server take no value"
        : `there is an argument without an option: '${extra}'`,
    )
  const { from, to } = values
  if (from === undefined) throw new UsageError("no --from URL given, to listen at")
  if (to === undefined) throw new UsageError("no --to URL given, to connect to")
  const stats = values.stats === "" ? STATS_SECONDS : values.stats
  const statsSeconds = wholeNumber("--stats", stats)
  if (statsSeconds !== undefined && (statsSeconds < 1 || statsSeconds > STATS_SECONDS_MAX))
    throw new UsageError(`--stats must be 1 to ${STATS_SECONDS_MAX} seconds; got ${statsSeconds}`)
  const number = (name: keyof BridgeValues) => wholeNumber(`--${name}`, values[name] as string)
  const limit = (name: keyof BridgeValues, defaultValue: number, min: number, max: number) => {
    const value = number(name) ?? defaultValue
    if (value < min || value > max)
      throw new UsageError(`--${name} must be ${min} to ${max}; got ${value}`)
    return value
  }
  const fromCurve = await readCurve("from", values)
  const toCurve = await readCurve("to", values)
  if (fromCurve?.isServer === false && toCurve?.isServer === false)
    throw new UsageError(
      "the bridge cannot be CURVE's client on both sides: each server waits to hear of the other's socket type",
    )
  const options = {
    autoDictionary: trainingOf(values["auto-dictionary"]),
    minCompressSize: number("min-compress-size"),
    acceleration: number("acceleration"),
    level: levelOf(values.level),
    arenas: values.arenas,
    revision: number("revision"),
    dictionary: values.dictionary === undefined ? undefined : readDictionary(values.dictionary),
  } as Lz4Options
  const isSealed = (isOurs(from) ? fromCurve : toCurve) !== undefined
  const asked = isSealed ? underCurve(options) : options
  const maxMessageSize = number("max-message-size") ?? MESSAGE_MAX_BYTES
  const format = await loadFormat(formatOf(from) ?? formatOf(to))
  const settings = orInputError(
    () => checkLz4Options(asked, checkBudget(maxMessageSize), [], format),
    (error) => withFlags(error as Error, [...Object.keys(options), "maxMessageSize"]),
  )
  const limits = {
    maxBytes: limit("max-plain-message-size", MESSAGE_MAX_BYTES, -1, Number.MAX_SAFE_INTEGER),
    maxParts: limit("max-parts", PARTS_MAX, 1, COUNT_MAX),
  }
  const maxConnections = limit("max-connections", CONNECTIONS_MAX, 1, COUNT_MAX)
  const spec = { from, to, settings, limits, fromCurve, toCurve, maxConnections }
  const isLevelChosen = values.level !== undefined
  return { spec, isLevelChosen, statsSeconds, metrics: values.metrics, json: values.json ?? false }
}

function levelOf(value: string | undefined): Lz4Options["level"] {
  if (value === "none" || value === "adaptive") return value
  // The number is checked together with all other options.
  return wholeNumber("--level", value, ', "none" or "adaptive"') as Lz4Options["level"]
}

/** Returns an error that names command-line options in place of the package's. */
const withFlags = ({ message }: Error, names: readonly string[]): Error =>
  new UsageError(message.replace(new RegExp(`\\b(${names.join("|")})\\b`, "g"), flag))

/** Returns a UsageError for a malformed endpoint, but not for an unknown host or interface. */
function endpointError(error: unknown): Error {
  const { code, message, address } = error as ZmqError
  if (code === "ENODEV") return new InputError(`${address}: ${errorText(error)}`)
  if (code !== "EINVAL") return error as Error
  const what = message.replace("Invalid argument: ", "")
  // It is said already, or the two ends do not go together, although each is well-formed.
  if (address === undefined || what.includes("expected")) return new UsageError(what)
  return new UsageError(`${what}; expected HOST:PORT; only --from may have *`)
}
