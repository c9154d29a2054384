/** Asks ZAP handlers whether to accept peers (RFC 27). `Mechanism.refuse` tells a peer if not. */
import type * as zmq from "zeromq"
import { clearInterval, clearTimeout, setInterval, setTimeout } from "../base/runtime.js"
import { unmapped } from "../transport/address.js"
import type { PeerConnection } from "../transport/transport.js"
import { zmqError } from "../transport/zmq-error.js"
import { loadZeromq } from "../zeromq.js"
import type { AuthStatus, Credentials, HandshakeSettings } from "../zmtp/mechanism.js"
import { readProperties, wrongType } from "../zmtp/metadata.js"
import type { SocketTypeName } from "../zmtp/socket-types.js"

const { Dealer, Reply, Router } = loadZeromq()

export const ADDRESS = "inproc://zeromq.zap.01"
const VERSION = "1.0"
/** Prefix of request ids. It is unusual, so that no id that a handler makes up matches a request. */
const ID_PREFIX = "lz4-"
const REPLY_PARTS = 7
/** Milliseconds between polls for replies: a pending receive() would keep the process alive. */
const POLL_MS = 5
/** Maximum number of replies received at once, so that timers and I/O get a turn. */
const REPLIES_MAX = 1000
/** Milliseconds without requests after which the sockets are closed: they keep the context alive. */
const IDLE_MS = 1000

/** Why there is no valid reply: a code of zeromq.js's event "handshake:error:protocol", without ERR_. */
type ZapFailure =
  | "ZAP_MALFORMED_REPLY"
  | "ZAP_BAD_REQUEST_ID"
  | "ZAP_BAD_VERSION"
  | "ZAP_INVALID_STATUS_CODE"
  | "ZAP_INVALID_METADATA"
  | "ZAP_UNSPECIFIED"

/** The handler's reply, or the reason why there is none. */
type ZapAnswer = AuthStatus | ZapFailure | "no handler"

/** Asks the ZAP handler of an endpoint's context about its peers. */
export class Authenticator {
  readonly #context: zmq.Context
  readonly #domain: string
  readonly #enforced: boolean
  readonly #handshake: HandshakeSettings
  readonly #pending = new Map<PeerConnection, PendingRequest>()

  constructor(
    context: zmq.Context,
    domain: string,
    enforced: boolean,
    handshake: HandshakeSettings,
  ) {
    this.#context = context
    this.#domain = domain
    this.#enforced = enforced
    this.#handshake = handshake
  }

  ask(connection: PeerConnection, credentials: Credentials, done: (answer: Answer) => void): void {
    const { mechanism, values } = credentials
    // As in libzmq, which then encrypts without authentication.
    if (this.#enforced && this.#domain === "" && mechanism === "CURVE") {
      done("no handler")
      return
    }
    const { socketType, routingId } = this.#handshake
    const address = unmapped(connection.remoteAddress ?? "")
    const secrets = values.map((value) => Buffer.from(value))
    const parts = [this.#domain, address, Buffer.from(routingId), mechanism, ...secrets]
    const request = clientOf(this.#context).ask(parts, socketType)
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

/** A request to a handler. `cancel` discards its reply. */
interface PendingRequest {
  answer: Promise<ZapAnswer>
  cancel(): void
}

function clientOf(context: zmq.Context): ZapClient {
  const client = clients.get(context) ?? new ZapClient(context)
  clients.set(context, client)
  return client
}

interface Unanswered {
  parts: (string | Buffer)[]
  socketType: SocketTypeName
  resolve(answer: ZapAnswer): void
}

/** The two sockets of a client, which are connected to the handler or wait for one. */
interface Sockets {
  /** Writable only while there is a handler, because the option `mandatory` is set. */
  router: zmq.Router
  /** Sends the requests. It is writable also before there is a handler, but not after it has gone. */
  dealer: zmq.Dealer
}

/**
 * The requests of one context. They share two sockets: a context has at most 1,023, and peers that are
 * not authenticated decide how many requests there are. The client does not bind the handler's name to
 * find out whether there is a handler, because no handler could bind it meanwhile.
 */
class ZapClient {
  readonly #context: zmq.Context
  #sockets: Sockets | undefined
  #lastId = 0
  /** Requests that the handler has no room for yet. */
  readonly #unsent = new Map<string, Unanswered>()
  readonly #sent = new Map<string, Unanswered>()
  #poll: NodeJS.Timeout | undefined
  #idle: NodeJS.Timeout | undefined

  constructor(context: zmq.Context) {
    this.#context = context
  }

  ask(parts: (string | Buffer)[], socketType: SocketTypeName): PendingRequest {
    const id = `${ID_PREFIX}${++this.#lastId}`
    const answer = new Promise<ZapAnswer>((resolve) => {
      this.#unsent.set(id, { parts, socketType, resolve })
    })
    this.#send()
    this.#work()
    return {
      answer,
      cancel: () => {
        this.#unsent.delete(id)
        this.#sent.delete(id)
      },
    }
  }

  /** Sends the requests that there is room for. Without a handler, answers them with "no handler". */
  #send(): void {
    try {
      this.#sockets ??= this.#open()
      if (hasHandler(this.#sockets)) this.#fill(this.#sockets)
      else this.#answerUnsent("no handler")
    } catch {
      // No socket could be created, or the context has ended.
      this.#answerUnsent("ZAP_UNSPECIFIED")
    }
  }

  #open(): Sockets {
    const options = { context: this.#context, linger: 0, sendTimeout: 0, receiveTimeout: 0 }
    const dealer = new Dealer({ ...options })
    try {
      const router = new Router({ ...options, mandatory: true })
      connect({ router, dealer })
      return { router, dealer }
    } catch (error) {
      dealer.close()
      throw error
    }
  }

  #fill({ dealer }: Sockets): void {
    for (const [id, waiting] of this.#unsent) {
      if (!dealer.writable) return
      this.#unsent.delete(id)
      this.#sent.set(id, waiting)
      dealer
        .send(["", VERSION, id, ...waiting.parts])
        .catch(() => this.#answer(id, "ZAP_UNSPECIFIED"))
    }
  }

  #receive(dealer: zmq.Dealer): void {
    for (let i = 0; i < REPLIES_MAX && dealer.readable; i++)
      dealer.receive().then(
        (reply) => this.#reply(reply),
        () => {},
      )
  }

  /** Finds the request of a reply: the one that it names, or the oldest if it names none. */
  #reply(reply: readonly Buffer[]): void {
    const named = reply[2]?.toString("latin1") ?? ""
    if (!this.#sent.has(named) && this.#wasAsked(named)) return // its connection has ended
    const [oldest] = this.#sent.keys()
    const id = this.#sent.has(named) ? named : oldest
    const request = id === undefined ? undefined : this.#sent.get(id)
    if (id !== undefined && request) this.#answer(id, readReply(reply, id, request.socketType))
  }

  #wasAsked(id: string): boolean {
    const number = Number(id.slice(ID_PREFIX.length))
    return id === `${ID_PREFIX}${number}` && number <= this.#lastId
  }

  #answer(id: string, answer: ZapAnswer): void {
    this.#sent.get(id)?.resolve(answer)
    this.#sent.delete(id)
  }

  #answerUnsent(answer: ZapAnswer): void {
    for (const { resolve } of this.#unsent.values()) resolve(answer)
    this.#unsent.clear()
  }

  /** Polls for replies while there are requests, and closes the sockets some time later. */
  #work(): void {
    clearTimeout(this.#idle)
    this.#poll ??= setInterval(() => {
      if (this.#sockets) this.#receive(this.#sockets.dealer)
      this.#send()
      if (this.#unsent.size > 0 || this.#sent.size > 0) return
      clearInterval(this.#poll)
      this.#poll = undefined
      this.#idle = setTimeout(() => this.#close(), IDLE_MS).unref()
    }, POLL_MS).unref()
  }

  #close(): void {
    if (!this.#sockets) return
    try {
      if (!hasHandler(this.#sockets)) endWait(this.#context)
    } catch {
      // No socket could be created for endWait(): try again later.
      this.#idle = setTimeout(() => this.#close(), IDLE_MS).unref()
      return
    }
    this.#sockets.router.close()
    this.#sockets.dealer.close()
    this.#sockets = undefined
  }
}

/** Binds the handler's name for a moment: libzmq keeps closed sockets that wait for a peer. */
function endWait(context: zmq.Context): void {
  const peer = new Reply({ context, linger: 0 })
  try {
    peer.bindSync(ADDRESS)
    peer.disconnect(ADDRESS) // does the same as unbind(), but on this thread
  } catch (error) {
    // A handler was bound at this moment.
    if ((error as { code?: string }).code !== "EADDRINUSE") throw error
  } finally {
    peer.close()
  }
}

function hasHandler(sockets: Sockets): boolean {
  const { router, dealer } = sockets
  void router.readable // libzmq looks for room before it notices that a peer has gone
  if (router.writable) return true
  // The previous handler has gone. There may be another.
  if (!dealer.writable) connect(sockets)
  return router.writable
}

function connect({ router, dealer }: Sockets): void {
  router.connect(ADDRESS)
  dealer.connect(ADDRESS)
}

const clients = new WeakMap<zmq.Context, ZapClient>()

function readReply(
  reply: readonly Buffer[],
  asked: string,
  socketType: SocketTypeName,
): AuthStatus | ZapFailure {
  if (reply.length !== REPLY_PARTS) return "ZAP_MALFORMED_REPLY"
  const [delimiter, version, id, status] = reply.map((part) => part.toString("latin1"))
  if (delimiter !== "") return "ZAP_UNSPECIFIED"
  if (version !== VERSION) return "ZAP_BAD_VERSION"
  if (id !== asked) return "ZAP_BAD_REQUEST_ID"
  if (!/^[2-5]00$/.test(status as string)) return "ZAP_INVALID_STATUS_CODE"
  const properties = readProperties(reply[6] as Buffer)
  // libzmq reads it as it reads a peer's metadata.
  if (!properties || wrongType(properties, socketType) !== undefined) return "ZAP_INVALID_METADATA"
  return Number(status) as AuthStatus
}
