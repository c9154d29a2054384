import type { Context } from "zeromq"
import { unmapped } from "../transport/address.js"
import type { PeerConnection } from "../transport/transport.js"
import { zmqError } from "../transport/zmq-error.js"
import type { Credentials, HandshakeSettings } from "../zmtp/mechanism.js"
import { askZap, type PendingRequest, type ZapAnswer } from "./zap.js"

/** Asks the ZAP handler of an endpoint's context about its peers. */
export class Authenticator {
  readonly #context: Context
  readonly #domain: string
  readonly #enforced: boolean
  readonly #handshake: HandshakeSettings
  readonly #pending = new Map<PeerConnection, PendingRequest>()

  constructor(context: Context, domain: string, enforced: boolean, handshake: HandshakeSettings) {
    this.#context = context
    this.#domain = domain
    this.#enforced = enforced
    this.#handshake = handshake
  }

  ask(connection: PeerConnection, credentials: Credentials, done: (answer: Answer) => void): void {
    // As in libzmq, which then encrypts without authentication.
    if (this.#enforced && this.#domain === "" && credentials.mechanism === "CURVE") {
      done("no handler")
      return
    }
    const address = unmapped(connection.remoteAddress ?? "")
    const request = askZap(this.#context, this.#domain, address, this.#handshake, credentials)
    this.#pending.set(connection, request)
    request.answer.then((answer) => {
      if (!this.#pending.delete(connection)) return
      done(answer === "no handler" && this.#enforced ? "no enforced handler" : answer)
    })
  }

  cancel(connection: PeerConnection): void {
    this.#pending.get(connection)?.cancel()
    this.#pending.delete(connection)
  }
}

type Answer = ZapAnswer | "no enforced handler"

/** Returns the failure of a handshake without a valid reply of ZAP; undefined if it can go on. */
export function refusalOf(
  answer: Answer,
  { mechanism }: Credentials,
): { type: "handshake:error:other" | "handshake:error:protocol"; error: Error } | undefined {
  if (typeof answer === "number") return undefined
  if (answer === "no handler" && mechanism !== "PLAIN") return undefined
  if (answer === "no handler" || answer === "no enforced handler")
    return { type: "handshake:error:other", error: zmqError("EFAULT") }
  const error = Object.assign(new Error("ZAP protocol error"), { code: `ERR_${answer}` })
  return { type: "handshake:error:protocol", error }
}
