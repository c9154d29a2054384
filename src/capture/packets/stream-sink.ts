import type { Side, Time } from "../events.js"

export interface TcpConnection {
  /** Address and port, such as "127.0.0.1:5555" or "[::1]:5555". */
  client: string
  server: string
  /**
   * Whether the capture includes the connection's beginning. If not, the client was guessed from
   * the ports.
   */
  begun: boolean
  /** The time of its first packet. */
  time: Time
}

/**
 * A consumer of the bytes of one TCP connection. It is created when the first of them arrive, so
 * that connections without data need none.
 */
export interface StreamSink {
  /** Whether the connection is known to be of interest. The number of others is limited. */
  readonly isKnown: boolean
  /**
   * Takes bytes of one side, in order and each once. They are valid during the call only. `offset`
   * is their offset in the file, and `time` the time of their capture, which may be earlier than
   * that of bytes passed on before. Returns false if the connection is of no interest; the sink is
   * not called again then.
   */
  data(from: Side, bytes: Uint8Array, offset: number, time: Time): boolean
  /**
   * Reports bytes that are missing from the capture. `offset` and `time` are those of the bytes
   * after them or, if there are none, of the packet that shows the gap.
   */
  gap(from: Side, bytes: number, offset: number, time: Time): void
  /**
   * Does the same for bytes at the end of a packet that was cut to a snap length.
   */
  cut(from: Side, bytes: number, offset: number, time: Time): void
  /** Reports a segment whose data was there before: it was sent again, or recorded twice. */
  repeated(from: Side): void
  /** Reports who ended the connection, and how, before the ends of its sides. */
  ending(by: Side, how: "FIN" | "RST"): void
  /**
   * Reports the end of a side, once for each: a FIN, an RST (both sides) or, with `cut`, the end of
   * the connection's captured packets.
   */
  end(from: Side, time: Time, cut: boolean): void
}
