import type { Socket } from "zeromq"
import type { FormatName } from "../../codec/format.js"
import { loadFormatSync, provideZstd } from "../../codec/formats.js"
import { NO_EFFORT } from "../../codec/no-effort.js"
import { boolean, checkEndpointOptions, own, type Settings } from "../../codec/options.js"
import { Sender } from "../../codec/sender.js"
import { zstd } from "../../codec/zstd/format.js"
import { underCurve } from "../../curve/compression.js"
import { ThreadTransport } from "../../thread/thread-transport.js"
import { threadsOf } from "../../thread/threads.js"
import { formatOf } from "../../transport/address.js"
import { LocalTransport } from "../../transport/local-transport.js"
import type { SocketTypeName } from "../../zmtp/socket-types.js"
import { note } from "../diagnostics.js"
import { refuseSocketOptions } from "../mistakes.js"
import {
  readHandshakeSettings,
  readHeartbeat,
  readPipeOptions,
  readTcpOptions,
} from "../socket-options.js"
import type { SocketState } from "../state.js"
import { Authenticator } from "../zap.js"
import type { EndpointSettings } from "./endpoint.js"
import {
  type EndpointOptions,
  OWN_OPTIONS,
  readHighWaterBytes,
  readThread,
} from "./endpoint-options.js"

// Where there is no require(), as in a bundle of ES modules. Its WebAssembly module is read when needed.
provideZstd(zstd)

/**
 * Reads the settings of a socket's endpoints. Endpoints without options of their own share them, and
 * with them an encoder, until an option of the socket changes.
 */
export class SettingsReader {
  readonly #socketType: SocketTypeName
  readonly #state: SocketState
  readonly #shared = new Map<FormatName, { settings: EndpointSettings; changes: number }>()

  constructor(socketType: SocketTypeName, state: SocketState) {
    this.#socketType = socketType
    this.#state = state
  }

  /** @throws TypeError, RangeError, or Error in the form of zeromq.js. */
  read(socket: Socket, address: string, given: EndpointOptions | null): EndpointSettings {
    const options = given ?? {}
    refuseSocketOptions(options, socket)
    const hasNoOptions = Object.keys(options).length === 0
    const { optionChanges: changes } = this.#state
    const format = formatOf(address) as FormatName
    const shared = this.#shared.get(format)
    if (hasNoOptions && shared?.changes === changes) {
      shared.settings.transport.encoder.share()
      return shared.settings
    }
    const settings = readSettings(socket, this.#socketType, this.#state, address, options)
    if (hasNoOptions) {
      shared?.settings.transport.encoder.close()
      settings.transport.encoder.share()
      this.#shared.set(format, { settings, changes })
    }
    return settings
  }

  /** Releases the shared encoders. */
  close(): void {
    for (const { settings } of this.#shared.values()) settings.transport.encoder.close()
    this.#shared.clear()
  }
}

const UNASKED =
  "compresses nothing with CURVE, as neither level nor acceleration, dictionary or autoDictionary is given"

/**
 * Returns the settings for peers of the other format. An acceleration and a dictionary are those of the
 * endpoint's own; where it has a fixed level, they get the default one.
 */
function otherSettings(
  { level: _, acceleration, dictionary, ...options }: EndpointOptions,
  { format, effort, adaptive }: Settings,
  maxMessageSize: number,
): Settings {
  const level = effort === NO_EFFORT ? "none" : undefined
  const other = loadFormatSync(format === "lz4" ? "zstd" : "lz4")
  const given = { ...options, ...(level && { level }) } as EndpointOptions
  return { ...checkEndpointOptions(given, maxMessageSize, OWN_OPTIONS, other), adaptive }
}

/** @throws TypeError, RangeError, or Error in the form of zeromq.js. */
function readSettings(
  socket: Socket,
  socketType: SocketTypeName,
  state: SocketState,
  address: string,
  given: EndpointOptions,
): EndpointSettings {
  const isCurve = socket.securityMechanism === "curve"
  const asked = isCurve ? underCurve(given) : given
  if (asked.level === "none" && given.level === undefined)
    note({ socketType, endpoint: address }, UNASKED)
  const format = loadFormatSync(formatOf(address))
  const preferred = checkEndpointOptions(asked, socket.maxMessageSize, OWN_OPTIONS, format)
  const options = own(given)
  const pipe = readPipeOptions(socket, socketType, state)
  const { conflate, receiveHighWaterMark } = pipe
  const thread = readThread(options)
  const { acceptPlain = false, keepCompressed = false } = options
  const acceptsPlain = boolean("acceptPlain", acceptPlain)
  const other = acceptsPlain ? otherSettings(asked, preferred, socket.maxMessageSize) : undefined
  const settings = { ...preferred, other }
  const receiveHighWaterBytes = readHighWaterBytes(options, receiveHighWaterMark)
  const tcp = readTcpOptions(socket, state, address)
  const handshake = readHandshakeSettings(socket, socketType, state, address, settings)
  const { context, zapDomain, zapEnforceDomain } = socket
  const connection = {
    settings,
    handshake,
    handshakeMs: socket.handshakeInterval,
    heartbeat: readHeartbeat(socket),
    acceptsPlain,
  }
  const credit = conflate ? 0 : receiveHighWaterMark
  return {
    format: format.name,
    transport: thread
      ? new ThreadTransport(threadsOf(context), { options: connection, tcp, credit })
      : new LocalTransport(
          { ...connection, sender: new Sender(settings, acceptsPlain), relays: false },
          tcp,
        ),
    authenticator: new Authenticator(context, zapDomain ?? "", zapEnforceDomain, handshake),
    authenticates:
      handshake.plainServer || handshake.authenticate || handshake.curve?.isServer === true,
    receiveHighWaterBytes,
    pipe: { ...pipe, keepCompressed: boolean("keepCompressed", keepCompressed) },
    immediate: socket.immediate,
  }
}
