import { agreed, readAnnounced } from "../../zmtp/revision.js"
import type { CaptureConnection, Side } from "../events.js"
import type { TransportName } from "./messages.js"

/** What keeps a whole connection from being understood. */
export class Warnings {
  /** The parts of `connection.warning`, in order. */
  readonly #parts: Record<Side | "transports", string | undefined> = {
    transports: undefined,
    client: undefined,
    server: undefined,
  }
  /** Why the dictionary of a side may not be known. */
  readonly #lacks: Record<Side, string> = { client: "", server: "" }

  /** Warns of, or withdraws the warning of, sides with different transports. */
  compareTransports(connection: CaptureConnection, transports: Transports): void {
    const warning = formatWarning(connection) ?? plainWarning(connection, transports)
    this.#set(connection, "transports", warning)
  }

  noteLack(from: Side, why: string): void {
    this.#lacks[from] = `messages of the ${from} do not decode: ${why}`
  }

  /** Warns, with the reason known first, that messages do not decode without their dictionary. */
  missDictionary(connection: CaptureConnection, from: Side): void {
    if (!this.#parts[from]) this.#set(connection, from, this.#lacks[from])
  }

  #set(
    connection: CaptureConnection,
    about: Side | "transports",
    warning: string | undefined,
  ): void {
    this.#parts[about] = warning
    connection.warning = Object.values(this.#parts).filter(Boolean).join("; ") || undefined
  }
}

type Transports = Readonly<Record<Side, TransportName | undefined>>

const announced = ({ handshakes }: CaptureConnection, side: Side) =>
  readAnnounced(handshakes[side]?.properties ?? [])

/** Returns a warning if both sides announce formats, but none in common: neither gets messages. */
function formatWarning(connection: CaptureConnection): string | undefined {
  const [client, server] = [announced(connection, "client"), announced(connection, "server")]
  const formats = client.map(({ format }) => format)
  if (!client[0] || !server[0] || agreed(formats, server)) return undefined
  return `the client speaks ${client[0].format}+tcp:// and the server ${server[0].format}+tcp://, so they refuse each other: use the same on both sides, or the option acceptPlain on one of them`
}

/**
 * Returns a warning if one side speaks `lz4+tcp://` or `zstd+tcp://` and the other probably `tcp://`:
 * only one of them announces a revision (RFC.md section 3.9), and the messages do not show that they
 * understand each other. `transports` is what those of each side so far look like.
 */
function plainWarning(connection: CaptureConnection, transports: Transports): string | undefined {
  const [ofClient] = announced(connection, "client")
  const [ofServer] = announced(connection, "server")
  const isReady = (side: Side) => connection.handshakes[side]?.identity !== undefined
  const format = ofClient?.format ?? ofServer?.format
  if (!isReady("client") || !isReady("server") || !format || (ofClient && ofServer))
    return undefined
  if (!transports.client && !transports.server) return undefined
  const [one, other]: [Side, Side] = ofClient ? ["client", "server"] : ["server", "client"]
  // It accepts plain peers; or the other side is an implementation that announces nothing.
  if (transports[one] === "tcp" || (transports[other] ?? "tcp") !== "tcp") return undefined
  const fix = `use the same on both sides, or the option acceptPlain on that of the ${one}`
  if (transports[one] === undefined)
    return `the ${other} speaks tcp:// and the ${one} ${format}+tcp://, which refuses the messages of the ${other} unless it has the option acceptPlain: ${fix}`
  if (transports[other] === "tcp")
    return `the ${one} speaks ${format}+tcp:// and the ${other} tcp://, so they misread each other's messages: ${fix}`
  return `the ${one} speaks ${format}+tcp://, and the ${other} does not announce that it does: unless it is another implementation, it speaks tcp:// and misreads the messages: ${fix}`
}
