import type { Head } from "./messages.js"
import type { Link, Socket } from "./network.js"
import type { SocketSpec } from "./scenario.js"

/** One or several rules that belong together. Checkers only observe a run. */
export interface Checker {
  /** A program is about to send. */
  sending?(socket: SocketSpec, head: Head, parts: readonly Buffer[]): void
  /** send() has succeeded. */
  accepted?(socket: SocketSpec, head: Head): void
  /** send() has failed. */
  refused?(socket: SocketSpec, head: Head, code: string): void
  /** flush() has succeeded, after these messages. */
  flushed?(socket: SocketSpec, heads: readonly Head[]): void
  /** A program has received a message. `parts` excludes parts that the socket type put in front. */
  received?(socket: SocketSpec, parts: readonly Buffer[]): void
  /** A peer of a socket was reported to have broken a rule. */
  protocolError?(
    socket: SocketSpec,
    peer: { remoteAddress: string; remotePort: number },
    error: Error,
  ): void
  /** The system accepted bytes in a direction of a link. */
  took?(link: Link, direction: object, bytes: Uint8Array): void
  /** Bytes were written to a connection whose end the next poll of the event loop would have found. */
  wroteUnaware?(socket: Socket, bytes: Uint8Array, endSince: number): void
  /** Bytes were written to a connection that is known to have ended. */
  wroteInVain?(socket: Socket, bytes: Uint8Array, why: string): void
  /** Called between events, when no callback is running. */
  between?(): void
  /** Programs had time to run, and will not pause any more. */
  busy?(): void
  /** Nothing has happened for a while, although all programs receive. */
  quiet?(): void
  /** The messages that publishers have sent since that time, in a quiet phase, have had time to arrive. */
  probed?(socket: SocketSpec, heads: readonly Head[], sinceMs: number): void
  /** All sockets are closed, and all their operations have ended. */
  end?(): void
}
