import type { Side, Time } from "../events.js"

export interface TcpConnection {
  /** Address and port, such as "127.0.0.1:5555" or "[::1]:5555". */
  client: string
  server: string
  /** Whether the capture has its beginning. If not, the client was guessed by the ports. */
  begun: boolean
  /** Of its first packet. */
  time: Time
}

/**
 * A consumer of the bytes of one TCP connection. It is asked for when the first of them come, so that
 * connections that never say anything need none.
 */
export interface StreamSink {
  /** Whether the connection is known to be of interest. The number of others is limited. */
  readonly isKnown: boolean
  /**
   * Bytes of one side: in order, each once, good during the call only. `offset` is where they are
   * in the file, `time` when they were captured, which may be before what came through first.
   * Returns false if the connection is of no interest: nothing more is reported of it.
   */
  data(from: Side, bytes: Uint8Array, offset: number, time: Time): boolean
  /**
   * Bytes that are missing from the capture. What follows continues after them; `offset` and
   * `time` are of that, or, if nothing follows, of the packet that shows the gap.
   */
  gap(from: Side, bytes: number, offset: number, time: Time): void
  /**
   * A side says no more: its FIN, an RST (both sides), or, with `cut`, the end of what was
   * captured of the connection. Once for each side.
   */
  end(from: Side, time: Time, cut: boolean): void
}
