import type { Message } from "./message.js"
import type { Pipe } from "./pipe.js"
import { Router } from "./router.js"
import type { Refusal } from "./socket-type.js"

/** The REP socket: receives a request, then sends its reply (RFC 28). */
export class Rep extends Router {
  override readonly name = "REP"
  override readonly mayKeepForms = false
  /** The requester's pipe and the envelope of the reply; undefined once the reply has been sent. */
  #request: { pipe: Pipe; envelope: Message } | undefined

  override send(message: Message): Refusal | undefined {
    if (!this.#request) return "EFSM"
    const { pipe, envelope } = this.#request
    // A reply that cannot be written is dropped, as in libzmq: the program cannot do anything about it.
    if (!pipe.out.write([...envelope, ...message])) pipe.out.countDropped()
    this.#request = undefined
    return undefined
  }

  /** A reply goes to nobody else, even if its peer has gone. */
  override isUpToDate(): boolean {
    return this.#request?.pipe.out.checkHwm() ?? true
  }

  override receive(): Message | Refusal {
    if (this.#request) return "EFSM"
    for (;;) {
      const next = this.next()
      if (next === undefined) return "EAGAIN"
      const { message, pipe } = next
      const delimiter = message.findIndex((part) => part.length === 0)
      // A request without a delimiter, or with nothing after it, is malformed.
      if (delimiter < 0 || delimiter === message.length - 1) continue
      this.#request = { pipe, envelope: message.slice(0, delimiter + 1) }
      return message.slice(delimiter + 1)
    }
  }

  override hasIn(): boolean {
    return this.#request === undefined && super.hasIn()
  }

  override hasOut(): boolean {
    return this.#request !== undefined
  }
}
