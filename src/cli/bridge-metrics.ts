/** What a bridge reports over HTTP: metrics for Prometheus, and its health. */
import type { Traffic } from "../codec/traffic.js"
import { parseBind } from "../transport/address.js"
import { errorText, InputError, UsageError } from "./errors.js"
import { type HttpServer, serveHttp } from "./http-server.js"

/** The state of a bridge, since it was started. */
export interface BridgeState {
  /** Connections that are open, and all that were joined. */
  open: number
  joined: number
  sent: Traffic
  received: Traffic
  /** Errors that ended connections, by code. */
  errors: ReadonlyMap<string, number>
  /** Connections that were closed because `--to` could not be reached, or because too many were open. */
  unreachable: number
  full: number
  /** Whether the last attempt to reach `--to` has succeeded; undefined before the first one. */
  isReachable: boolean | undefined
  isEnding: boolean
}

const TEXT = "text/plain; version=0.0.4; charset=utf-8"
const JSON_TEXT = "application/json; charset=utf-8"
/** More would take the bridge's descriptors. */
const MAX_CONNECTIONS = 64

/**
 * Serves `/metrics` and `/health` at `address`, which is HOST:PORT.
 *
 * @throws UsageError if that is malformed. @throws InputError if it cannot be used.
 */
export async function serveMetrics(
  address: string,
  labels: Labels,
  read: () => BridgeState,
): Promise<HttpServer> {
  const at = { ...parsed(address), name: `--metrics ${address}` }
  return serveHttp(at, MAX_CONNECTIONS, ({ method = "", url = "" }, response) => {
    const [path = ""] = url.split("?", 1)
    const { status, type, body } = answer(method, path, labels, read)
    response.writeHead(status, { "content-type": type, "cache-control": "no-store" }).end(body)
  })
}

function parsed(address: string): { host: string; port: number } {
  try {
    return parseBind(`tcp://${address}`, /\[|::/.test(address))
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === "ENODEV") throw new InputError(`--metrics ${address}: ${errorText(error)}`)
    throw new UsageError(
      `--metrics takes HOST:PORT, such as 127.0.0.1:9464, with a PORT of up to 65535 or *; got ${JSON.stringify(address)}`,
    )
  }
}

function answer(
  method: string,
  path: string,
  labels: Labels,
  read: () => BridgeState,
): { status: number; type: string; body: string } {
  if (path !== "/metrics" && path !== "/health")
    return { status: 404, type: TEXT, body: "there are /metrics and /health\n" }
  if (method !== "GET" && method !== "HEAD")
    return { status: 405, type: TEXT, body: "GET and HEAD are supported\n" }
  const state = read()
  if (path === "/metrics") return { status: 200, type: TEXT, body: metricsText(labels, state) }
  const { isEnding, isReachable, open } = state
  const to = isReachable === undefined ? "unknown" : isReachable ? "reachable" : "unreachable"
  const health = { status: isEnding ? "ending" : "ok", to, connections: open }
  return { status: isEnding ? 503 : 200, type: JSON_TEXT, body: `${JSON.stringify(health)}\n` }
}

type Labels = Readonly<Record<string, string>>
type Sample = readonly [labels: Labels, value: number]

/** Formats metrics in Prometheus' text format, version 0.0.4. Every line gets `labels`. */
export function metricsText(labels: Labels, state: BridgeState): string {
  const { sent, received } = state
  const byDirection = (field: keyof Traffic): Sample[] => [
    [{ direction: "sent" }, sent[field]],
    [{ direction: "received" }, received[field]],
  ]
  const { open, joined, unreachable, full } = state
  const metrics: [name: string, help: string, samples: Sample[]][] = [
    ["connections", "Connections that are open.", [[{}, open]]],
    ["connections_total", "Connections that were joined.", [[{}, joined]]],
    ["messages_total", "Messages over lz4+tcp:// or zstd+tcp://.", byDirection("messages")],
    ["plain_bytes_total", "Bytes of their parts, plain.", byDirection("plainBytes")],
    [
      "wire_bytes_total",
      "Bytes of their parts as they were on the wire.",
      byDirection("wireBytes"),
    ],
    [
      "errors_total",
      "Connections that ended with an error, by its code.",
      Array.from(state.errors, ([code, value]): Sample => [{ code }, value]),
    ],
    [
      "unreachable_total",
      "Connections that were closed because --to could not be reached.",
      [[{}, unreachable]],
    ],
    [
      "refused_total",
      "Connections that were closed because --max-connections were open.",
      [[{}, full]],
    ],
  ]
  return metrics
    .filter(([, , samples]) => samples.length > 0)
    .flatMap(([name, help, samples]) => [
      `# HELP zeromq_lz4_bridge_${name} ${help}`,
      `# TYPE zeromq_lz4_bridge_${name} ${name.endsWith("_total") ? "counter" : "gauge"}`,
      ...samples.map(
        ([own, value]) => `zeromq_lz4_bridge_${name}${labelText({ ...labels, ...own })} ${value}`,
      ),
    ])
    .map((line) => `${line}\n`)
    .join("")
}

function labelText(labels: Labels): string {
  const pairs = Object.entries(labels).map(([name, value]) => `${name}="${escaped(value)}"`)
  return `{${pairs.join(",")}}`
}

const ESCAPES: Readonly<Record<string, string>> = { "\\": "\\\\", '"': '\\"', "\n": "\\n" }
const escaped = (value: string): string =>
  value.replace(/[\\"\n]/g, (character) => ESCAPES[character] as string)
