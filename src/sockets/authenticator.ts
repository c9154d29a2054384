import type { Context } from "zeromq"
import { unmapped } from "../transport/address.js"
import type { PeerConnection } from "../transport/transport.js"
import type { Credentials, HandshakeSettings } from "../zmtp/mechanism.js"
import type { SocketTypeName } from "../zmtp/socket-types.js"
import { askZap, noHandler, type PendingRequest, type ZapAnswer } from "./zap.js"

/** The authentication of an endpoint's peers by a ZAP handler. */
export class Authenticator {
  readonly #context: Context
  readonly #domain: string
  readonly #enforced: boolean
  readonly #socketType: SocketTypeName
  readonly #routingId: Uint8Array
  readonly #pending = new Map<PeerConnection, PendingRequest>()

  constructor(
    context: Context,
    domain: string,
    enforced: boolean,
    { socketType, routingId }: HandshakeSettings,
  ) {
    this.#context = context
    this.#domain = domain
    this.#enforced = enforced
    this.#socketType = socketType
    this.#routingId = routingId
  }

  ask(connection: PeerConnection, credentials: Credentials, done: (answer: Answer) => void): void {
    // As in libzmq, which then encrypts without authentication.
    if (this.#enforced && this.#domain === "" && credentials.mechanism === "CURVE") {
      done("no handler")
      return
    }
    const request = askZap(
      this.#context,
      {
        socketType: this.#socketType,
        domain: this.#domain,
        address: unmapped(connection.remoteAddress ?? ""),
        routingId: this.#routingId,
      },
      credentials,
    )
    this.#pending.set(connection, request)
    request.answer.then((answer) => {
      if (!this.#pending.delete(connection)) return
      done(answer === "no handler" && this.#enforced ? "no enforced handler" : answer)
    })
  }

  /** Cancels the request of a connection that has ended. */
  cancel(connection: PeerConnection): void {
    const request = this.#pending.get(connection)
    if (!request) return
    this.#pending.delete(connection)
    request.cancel()
  }
}

type Answer = ZapAnswer | "no enforced handler"

/**
 * Returns the handshake failure that follows from a missing, invalid or negative reply of ZAP;
 * undefined if the handshake can go on.
 */
export function refusalOf(
  answer: Answer,
  { mechanism }: Credentials,
): { type: "handshake:error:other" | "handshake:error:protocol"; error: Error } | undefined {
  if (typeof answer === "number") return undefined
  if (answer === "no handler" && mechanism !== "PLAIN") return undefined
  if (answer === "no handler" || answer === "no enforced handler")
    return { type: "handshake:error:other", error: noHandler() }
  const error = Object.assign(new Error("ZAP protocol error"), { code: `ERR_${answer}` })
  return { type: "handshake:error:protocol", error }
}
