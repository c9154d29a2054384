import { readAnnounced } from "../../zmtp/revision.js"
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
    this.#set(connection, "transports", transportWarning(connection, transports))
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

/**
 * Returns a warning if one side speaks `lz4+tcp://` and the other probably `tcp://`: only one of
 * them announces a revision (RFC.md section 3.9), and no message shows that they understand each
 * other. `transports` is what the messages of each side so far look like.
 */
function transportWarning(
  { handshakes }: CaptureConnection,
  transports: Transports,
): string | undefined {
  const announces = (side: Side) => readAnnounced(handshakes[side]?.properties ?? []).length > 0
  const isReady = (side: Side) => handshakes[side]?.identity !== undefined
  if (!isReady("client") || !isReady("server") || announces("client") === announces("server"))
    return undefined
  const [lz4, other]: [Side, Side] = announces("client")
    ? ["client", "server"]
    : ["server", "client"]
  // It accepts plain peers; or the other side is an implementation that announces nothing.
  if (transports[lz4] === "tcp" || transports[other] === "lz4+tcp") return undefined
  const fix = `use the same on both sides, or the option acceptPlain on that of the ${lz4}`
  if (transports[lz4] === undefined)
    return `the ${other} speaks tcp:// and the ${lz4} lz4+tcp://, which refuses the messages of the ${other} unless it has the option acceptPlain: ${fix}`
  if (transports[other] === "tcp")
    return `the ${lz4} speaks lz4+tcp:// and the ${other} tcp://, so they misread each other's messages: ${fix}`
  return `the ${lz4} speaks lz4+tcp://, and the ${other} does not announce that it does: unless it is another implementation, it speaks tcp:// and misreads the messages: ${fix}`
}
