import { Dealer } from "./dealer.js"
import type { Message } from "./message.js"
import type { Pipe } from "./pipe.js"
import { randomId } from "./random-id.js"
import type { Refusal } from "./socket-type.js"

const REQUEST_ID_BYTES = 4
const DELIMITER = Buffer.alloc(0)

/**
 * Returns the rule that a reply breaks: it must begin with an empty part, after the request id if
 * there is one.
 */
function violationOf(message: Message): string | undefined {
  const at = message[0]?.length === REQUEST_ID_BYTES ? 1 : 0
  if (message.length >= at + 2 && message[at]?.length === 0) return undefined
  return "a reply does not begin with an empty part"
}

/** The REQ socket: sends a request, then receives its reply (RFC 28). */
export class Req extends Dealer {
  override readonly name = "REQ"
  override readonly mayKeepForms = false
  override readonly sendTellsRoom = false
  override readonly violation: (message: Message) => string | undefined = violationOf
  #receivingReply = false
  /** The pipe of the last request; undefined if it has ended. */
  #replyPipe: Pipe | undefined
  #requestId = randomId()

  override terminated(pipe: Pipe): void {
    if (this.#replyPipe === pipe) this.#replyPipe = undefined
    super.terminated(pipe)
  }

  override send(message: Message): Refusal | undefined {
    const { correlate, relaxed } = this.options
    if (this.#receivingReply && !relaxed) return "EFSM"
    // The previous request is given up even if this one finds no room.
    this.#receivingReply = false
    this.#replyPipe = undefined
    let request = [DELIMITER, ...message]
    if (correlate) {
      this.#requestId = (this.#requestId + 1) >>> 0
      const id = Buffer.alloc(REQUEST_ID_BYTES)
      id.writeUInt32LE(this.#requestId)
      request = [id, ...request]
    }
    const pipe = this.out.send(request)
    if (!pipe) return "EAGAIN"
    this.#replyPipe = pipe
    this.#receivingReply = true
    // Discard late replies to earlier requests.
    while (this.in.receive() !== undefined);
    return undefined
  }

  override receive(): Message | Refusal {
    if (!this.#receivingReply) return "EFSM"
    const { correlate } = this.options
    for (;;) {
      const message = this.in.receive()
      if (message === undefined) return "EAGAIN"
      if (this.#replyPipe && this.in.from !== this.#replyPipe) continue
      const body = correlate ? this.#withoutId(message) : message
      if (!body || body.length < 2 || body[0]?.length !== 0) continue
      this.#receivingReply = false
      return body.slice(1)
    }
  }

  override hasIn(): boolean {
    return this.#receivingReply && super.hasIn()
  }

  override hasOut(): boolean {
    return (!this.#receivingReply || this.options.relaxed) && super.hasOut()
  }

  #withoutId(message: Message): Message | undefined {
    const id = message[0] as Buffer
    if (id.length !== REQUEST_ID_BYTES || id.readUInt32LE() !== this.#requestId) return undefined
    return message.slice(1)
  }
}
