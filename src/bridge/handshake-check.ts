import { ProtocolError } from "../codec/errors.js"
import { COMMAND, checkHead } from "../codec/frames.js"
import { commandName, commandTooLong, HANDSHAKE_COMMAND_MAX_BYTES } from "../zmtp/commands.js"
import { FrameReader, type FrameSink } from "../zmtp/frame-reader.js"
import { GREETING_BYTES } from "../zmtp/greeting.js"

/**
 * Reads one direction of a stream up to the end of its handshake (RFC.md section 3.1), to refuse a
 * message that comes before that.
 */
export class HandshakeCheck implements FrameSink {
  #greetingLeft = GREETING_BYTES
  readonly #frames = new FrameReader()
  /** Whether the last command of the direction was read. */
  isOver = false

  /** @throws ProtocolError if a chunk breaks a rule. */
  read(chunk: Uint8Array): void {
    const start = Math.min(this.#greetingLeft, chunk.length)
    this.#greetingLeft -= start
    this.#frames.read(chunk, start, this)
  }

  head(flags: number, bodyBytes: number): void {
    checkHead(flags, bodyBytes)
    if (!(flags & COMMAND))
      throw new ProtocolError("ERR_ZMTP_HANDSHAKE", "a message came before the handshake was over")
    if (bodyBytes > HANDSHAKE_COMMAND_MAX_BYTES)
      throw commandTooLong(bodyBytes, HANDSHAKE_COMMAND_MAX_BYTES)
  }

  frame(_flags: number, body: Buffer): boolean {
    const name = commandName(body)
    this.isOver = name === "READY" || name === "INITIATE"
    return !this.isOver
  }
}
