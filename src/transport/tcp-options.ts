/**
 * Connections that the system keeps until they are accepted, unless the program sets `backlog`. libzmq's
 * default, 100, suits a thread that accepts at once: an event loop that starts a program, or computes,
 * has hundreds of clients waiting, and the system drops those beyond the limit, which try again after a
 * second. Linux keeps at most net.core.somaxconn, which is 4096 as a rule.
 */
export const BACKLOG = 4096

/** Options of TCP connections, listeners and dialers; `tcp.ts` sets those of Node's sockets. */
export interface TcpOptions {
  /** undefined keeps the system's default. */
  keepAlive: boolean | undefined
  /** Milliseconds of silence before the first keep-alive probe; 0 keeps the system's default. */
  keepAliveDelayMs: number
  /** Milliseconds between probes that are not answered; 0 keeps the default. */
  keepAliveIntervalMs: number
  /** Unanswered probes after which the connection ends; 0 keeps the default. */
  keepAliveCount: number
  /** The IP header's byte of that name. */
  typeOfService: number
  ipv6: boolean
  /**
   * Addresses and subnets that peers may connect from, as in ZMQ_TCP_ACCEPT_FILTER. An empty list
   * allows all.
   */
  acceptFilters: readonly string[]
  backlog: number
  /** 0 leaves the timeout to the system. */
  connectTimeoutMs: number
  /** Milliseconds before the second attempt to connect; 0 or less allows only one. */
  reconnectMs: number
  /** Limit up to which the pauses double, in milliseconds; 0 does not double them. */
  reconnectMaxMs: number
}
