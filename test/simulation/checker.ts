import type { Head } from "./messages.js"
import type { Socket } from "./network.js"
import type { SocketSpec } from "./scenario.js"

/** A rule, or several that belong together. Checkers see what happens, and decide nothing. */
export interface Checker {
  /** A program is about to send. */
  sending?(socket: SocketSpec, head: Head, parts: readonly Buffer[]): void
  /** send() has succeeded. */
  accepted?(socket: SocketSpec, head: Head): void
  /** send() has failed. */
  refused?(socket: SocketSpec, head: Head, code: string): void
  /** A program has received a message, without what was put before it. */
  received?(socket: SocketSpec, parts: readonly Buffer[]): void
  /** A peer of a socket was said to have broken a rule. */
  protocolError?(
    socket: SocketSpec,
    peer: { remoteAddress: string; remotePort: number },
    error: Error,
  ): void
  /** Bytes were written to a connection that is known to be over. */
  wroteInVain?(socket: Socket, bytes: Uint8Array, why: string): void
  /** An event was handled; nobody is in the middle of anything. */
  between?(): void
  /** Programs were given time, and stop to pause from now on. */
  busy?(): void
  /** Nothing has happened for a while, though all programs receive. */
  quiet?(): void
  /** What publishers have sent since that time, when nothing happened, has arrived. */
  probed?(socket: SocketSpec, heads: readonly Head[], sinceMs: number): void
  /** All sockets are closed, and all that they began is over. */
  end?(): void
}
