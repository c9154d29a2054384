import type { Socket } from "zeromq"
import type { Settings } from "../codec/options.js"
import type { PipeOptions } from "../patterns/pipe.js"
import type { HeartbeatOptions } from "../transport/heartbeat.js"
import { setsKeepAliveProbes, setsTypeOfService } from "../transport/tcp.js"
import { BACKLOG, type TcpOptions } from "../transport/tcp-options.js"
import { mistake } from "../transport/zmq-error.js"
import type { HandshakeSettings } from "../zmtp/mechanism.js"
import type { SocketTypeName } from "../zmtp/socket-types.js"
import type { SocketState } from "./state.js"
import { OPTION } from "./zmq-numbers.js"

/** TCP options that only recent versions of Node can apply, with their defaults. */
const RECENT = {
  ...(!setsKeepAliveProbes && { tcpKeepaliveCount: -1, tcpKeepaliveInterval: -1 }),
  ...(!setsTypeOfService && { typeOfService: 0 }),
}
/** The first versions of Node that can apply them all. */
const RECENT_VERSIONS = "24.21, 26.4"
/** TCP options of libzmq that Node cannot apply, with their defaults. */
const REFUSED = {
  ...RECENT,
  tcpMaxRetransmitTimeout: 0,
  sendBufferSize: -1,
  receiveBufferSize: -1,
  interface: null,
  socksProxy: null,
}

const CONFLATING: ReadonlySet<SocketTypeName> = new Set(["PUB", "SUB", "DEALER", "PULL", "PUSH"])

/** @throws Error with code ENOTSUP for an option that would have to be ignored. */
export function readTcpOptions(
  socket: Socket,
  { acceptFilters, setsBacklog }: SocketState,
  endpoint: string,
): TcpOptions {
  for (const [name, defaultValue] of Object.entries(REFUSED)) {
    const value = socket[name as keyof Socket] as unknown
    if (value === undefined || value === defaultValue) continue
    const [node, update] =
      name in RECENT
        ? [`Node ${process.versions.node}`, `use Node ${RECENT_VERSIONS} or later, `]
        : ["Node", ""]
    throw mistake(
      "ENOTSUP",
      endpoint,
      `cannot have the socket's ${name} of ${value}, as ${node} does not set it`,
      `leave it at ${defaultValue}, ${update}or use tcp://`,
    )
  }
  return {
    keepAlive: socket.tcpKeepalive < 0 ? undefined : socket.tcpKeepalive === 1,
    keepAliveDelayMs: Math.max(0, socket.tcpKeepaliveIdle) * 1000,
    keepAliveIntervalMs: Math.max(0, socket.tcpKeepaliveInterval) * 1000,
    keepAliveCount: Math.max(0, socket.tcpKeepaliveCount),
    typeOfService: socket.typeOfService & 0xff, // the system takes the lowest byte
    ipv6: socket.ipv6,
    acceptFilters: [...acceptFilters],
    backlog: setsBacklog ? socket.backlog : BACKLOG,
    connectTimeoutMs: socket.connectTimeout,
    reconnectMs: socket.reconnectInterval,
    reconnectMaxMs: socket.reconnectMaxInterval,
  }
}

/** @throws Error with code ENOTSUP for GSSAPI. */
export function readHandshakeSettings(
  socket: Socket,
  socketType: SocketTypeName,
  state: SocketState,
  endpoint: string,
  { format, revision, other }: Pick<Settings, "format" | "revision" | "other">,
): HandshakeSettings {
  const { securityMechanism } = socket
  if (securityMechanism === "gssapi")
    throw mistake(
      "ENOTSUP",
      endpoint,
      "cannot be used with GSSAPI, which encrypts parts before they can be compressed",
      "leave gssapiServer and the other options of GSSAPI unset, or use tcp://",
    )
  const isPlain = securityMechanism === "plain"
  const isCurve = securityMechanism === "curve"
  return {
    socketType,
    mechanism: isCurve ? "CURVE" : isPlain ? "PLAIN" : "NULL",
    plainServer: isPlain && socket.plainServer,
    username: Buffer.from((isPlain && socket.plainUsername) || ""),
    password: Buffer.from((isPlain && socket.plainPassword) || ""),
    routingId: state.routingId ?? Buffer.alloc(0),
    authenticate: (socket.zapDomain ?? "") !== "",
    formats: other ? [format, other.format] : [format],
    revision,
    curve: isCurve ? state.curveKeys.settings(socket.curveServer) : undefined,
  }
}

export function readHeartbeat(socket: Socket): HeartbeatOptions {
  const { heartbeatInterval, heartbeatTimeout, heartbeatTimeToLive } = socket
  return {
    intervalMs: heartbeatInterval,
    timeoutMs: heartbeatTimeout,
    timeToLive: Math.floor(heartbeatTimeToLive / 100),
  }
}

export function readPipeOptions(
  socket: Socket,
  socketType: SocketTypeName,
  { conflate }: SocketState,
): PipeOptions {
  const native = socket as unknown as { getInt32Option(option: number): number }
  return {
    sendHighWaterMark: native.getInt32Option(OPTION.sendHighWaterMark),
    receiveHighWaterMark: native.getInt32Option(OPTION.receiveHighWaterMark),
    conflate: conflate && CONFLATING.has(socketType),
  }
}
