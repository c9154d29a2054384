/** Options of each TCP connection, and of dialling it. */
export interface TcpOptions {
  /** undefined leaves it to the system. */
  keepAlive: boolean | undefined
  /** Milliseconds of silence before the first keep-alive probe; 0 leaves it to the system. */
  keepAliveDelayMs: number
  ipv6: boolean
  /** Addresses and subnets from which peers may come, as ZMQ_TCP_ACCEPT_FILTER has them; none: all. */
  acceptFilters: readonly string[]
  backlog: number
  /** 0: as long as the system takes. */
  connectTimeoutMs: number
  /** First pause after a connection that failed; 0 or less: no second attempt. */
  reconnectMs: number
  /** The pause doubles up to this; 0: it stays as it is. */
  reconnectMaxMs: number
}
