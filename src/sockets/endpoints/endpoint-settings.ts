import type { Socket } from "zeromq"
import { boolean, checkEndpointOptions, own } from "../../codec/options.js"
import { Sender } from "../../codec/sender.js"
import { underCurve } from "../../curve/compression.js"
import { ThreadTransport } from "../../thread/thread-transport.js"
import { threadsOf } from "../../thread/threads.js"
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

/**
 * Reads the settings of a socket's endpoints. Endpoints without options of their own share them, and
 * with them an encoder, until an option of the socket changes.
 */
export class SettingsReader {
  readonly #socketType: SocketTypeName
  readonly #state: SocketState
  #shared: { settings: EndpointSettings; changes: number } | undefined

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
    if (hasNoOptions && this.#shared?.changes === changes) {
      this.#shared.settings.transport.encoder.share()
      return this.#shared.settings
    }
    const settings = readSettings(socket, this.#socketType, this.#state, address, options)
    if (hasNoOptions) {
      this.close()
      settings.transport.encoder.share()
      this.#shared = { settings, changes }
    }
    return settings
  }

  /** Releases the shared encoder. */
  close(): void {
    this.#shared?.settings.transport.encoder.close()
    this.#shared = undefined
  }
}

const UNASKED =
  "compresses nothing with CURVE, as neither level nor acceleration, dictionary or autoDictionary is given"

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
  const settings = checkEndpointOptions(asked, socket.maxMessageSize, OWN_OPTIONS)
  const options = own(given)
  const pipe = readPipeOptions(socket, socketType, state)
  const { conflate, receiveHighWaterMark } = pipe
  const thread = readThread(options)
  const { acceptPlain = false } = options
  const acceptsPlain = boolean("acceptPlain", acceptPlain)
  const receiveHighWaterBytes = readHighWaterBytes(options, receiveHighWaterMark)
  const tcp = readTcpOptions(socket, state, address)
  const handshake = readHandshakeSettings(socket, socketType, state, address, settings.revision)
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
    pipe,
    immediate: socket.immediate,
  }
}
