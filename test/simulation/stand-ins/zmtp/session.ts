/** Sessions whose frames are counted. */

import type { HandshakeSettings } from "../../../../src/zmtp/mechanism.js"
import {
  type FrameHandlers,
  Session as RealSession,
  type SessionHandlers,
} from "../../../../src/zmtp/session.js"

export class Session extends RealSession {
  /** Whether it makes messages of frames. Otherwise these are passed on many at a time. */
  readonly #makesMessages: boolean

  constructor(settings: HandshakeSettings, handlers: SessionHandlers, frames?: FrameHandlers) {
    super(settings, handlers, frames)
    this.#makesMessages = frames === undefined
  }

  override frame(flags: number, body: Buffer): boolean {
    if (this.#makesMessages) __simulation.turns.framed()
    return super.frame(flags, body)
  }
}
