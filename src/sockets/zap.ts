/** Asks the handler of ZAP whether a peer may come in (RFC 27). */
import type * as zmq from "zeromq"
import { zmqError } from "../transport/zmq-error.js"
import { loadZeromq } from "../zeromq.js"
import type { AuthStatus, Credentials } from "../zmtp/handshake.js"
import { readMetadata } from "../zmtp/metadata.js"

const { Dealer, Reply, Router } = loadZeromq()

const ADDRESS = "inproc://zeromq.zap.01"
const VERSION = "1.0"
/** Requests of a context share a pipe, so that ids tell them apart. Few handlers make up such ids. */
const ID_PREFIX = "lz4-"
const REPLY_PARTS = 7
/** Interval at which replies are looked for: a receive() that waits would keep the process alive. */
const POLL_MS = 5
/** Replies taken at a time, so that timers and I/O have their turn. */
const REPLIES_MAX = 1000
/** Time without requests after which the sockets are closed, as they keep the context alive. */
const IDLE_MS = 1000

/** The fields of a ZAP request besides the credentials. */
export interface ZapRequest {
  domain: string
  address: string
  routingId: Uint8Array
}

/** Why there is no answer: a reason of zeromq.js' "handshake:error:protocol", without ERR_. */
export type ZapFailure =
  | "ZAP_MALFORMED_REPLY"
  | "ZAP_BAD_REQUEST_ID"
  | "ZAP_BAD_VERSION"
  | "ZAP_INVALID_STATUS_CODE"
  | "ZAP_INVALID_METADATA"
  | "ZAP_UNSPECIFIED"

/** The handler's answer; "nobody" where there is no handler. */
export type ZapAnswer = AuthStatus | ZapFailure | "nobody"

/** A request to a handler; `cancel` gives it up. */
export interface PendingRequest {
  answer: Promise<ZapAnswer>
  cancel(): void
}

/** Asks the handler of a context about a peer. */
export function askZap(
  context: zmq.Context,
  request: ZapRequest,
  credentials: Credentials,
): PendingRequest {
  let client = clients.get(context)
  if (!client) {
    client = new ZapClient(context)
    clients.set(context, client)
  }
  return client.ask([
    request.domain,
    request.address,
    Buffer.from(request.routingId),
    credentials.mechanism,
    ...credentials.values.map((value) => Buffer.from(value)),
  ])
}

interface Waiting {
  parts: (string | Buffer)[]
  resolve(answer: ZapAnswer): void
}

/** The sockets of a client, both connected to the handler, or waiting for one. */
interface Sockets {
  /** Is writable if there is a handler: its peer, that is, since it is mandatory. */
  router: zmq.Router
  /** Carries the requests. Is writable also if it waits for a handler, but not if that has gone. */
  dealer: zmq.Dealer
}

/**
 * The requests of one context. They share sockets, since a context has no more than 1,023 of them,
 * and peers that are not authenticated yet decide how many requests there are. The name of the
 * handler is not tried by binding it: that would take it from the handler.
 */
class ZapClient {
  readonly #context: zmq.Context
  #sockets: Sockets | undefined
  #lastId = 0
  /** Requests that the handler has no room for yet. */
  readonly #unsent = new Map<string, Waiting>()
  readonly #sent = new Map<string, Waiting>()
  #poll: NodeJS.Timeout | undefined
  #idle: NodeJS.Timeout | undefined

  constructor(context: zmq.Context) {
    this.#context = context
  }

  ask(parts: (string | Buffer)[]): PendingRequest {
    const id = `${ID_PREFIX}${++this.#lastId}`
    const answer = new Promise<ZapAnswer>((resolve) => {
      this.#unsent.set(id, { parts, resolve })
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

  /** Sends what there is room for, or answers in place of a handler that is not there. */
  #send(): void {
    try {
      this.#sockets ??= this.#open()
      if (hasHandler(this.#sockets)) this.#fill(this.#sockets)
      else this.#answerUnsent("nobody")
    } catch {
      // No socket can be had, or the context is gone.
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

  /** Takes a reply to the request that it names; one that names none is taken for the oldest. */
  #reply(reply: readonly Buffer[]): void {
    const named = reply[2]?.toString("latin1") ?? ""
    if (!this.#sent.has(named) && this.#wasAsked(named)) return // its connection has ended
    const [oldest] = this.#sent.keys()
    const id = this.#sent.has(named) ? named : oldest
    if (id !== undefined) this.#answer(id, readReply(reply, id))
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

  /** Looks for replies as long as there are requests, and closes the sockets some time after. */
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
      // There is no socket left to end it with.
      this.#idle = setTimeout(() => this.#close(), IDLE_MS).unref()
      return
    }
    this.#sockets.router.close()
    this.#sockets.dealer.close()
    this.#sockets = undefined
  }
}

/** Gives sockets that wait a peer: libzmq does not let go of them before, though they are closed. */
function endWait(context: zmq.Context): void {
  const peer = new Reply({ context, linger: 0 })
  try {
    peer.bindSync(ADDRESS)
    peer.disconnect(ADDRESS) // as unbind() does, on this thread
  } catch (error) {
    // Or a handler came right now.
    if ((error as { code?: string }).code !== "EADDRINUSE") throw error
  } finally {
    peer.close()
  }
}

function hasHandler(sockets: Sockets): boolean {
  const { router, dealer } = sockets
  void router.readable // libzmq looks for room before it notices that a peer has gone
  if (router.writable) return true
  // The handler that was there has gone. There may be another.
  if (!dealer.writable) connect(sockets)
  return router.writable
}

function connect({ router, dealer }: Sockets): void {
  router.connect(ADDRESS)
  dealer.connect(ADDRESS)
}

const clients = new WeakMap<zmq.Context, ZapClient>()

/** The error code of zeromq.js where there is no handler, and one is needed. */
export function noHandler(): Error {
  return zmqError("EFAULT")
}

function readReply(reply: readonly Buffer[], asked: string): AuthStatus | ZapFailure {
  if (reply.length !== REPLY_PARTS) return "ZAP_MALFORMED_REPLY"
  const [delimiter, version, id, status, , , metadata] = reply as [
    Buffer,
    Buffer,
    Buffer,
    Buffer,
    Buffer,
    Buffer,
    Buffer,
  ]
  if (delimiter.length > 0) return "ZAP_UNSPECIFIED"
  if (version.toString("latin1") !== VERSION) return "ZAP_BAD_VERSION"
  if (id.toString("latin1") !== asked) return "ZAP_BAD_REQUEST_ID"
  const code = status.toString("latin1")
  if (!/^[2-5]00$/.test(code)) return "ZAP_INVALID_STATUS_CODE"
  if (!readMetadata(metadata)) return "ZAP_INVALID_METADATA"
  return Number(code) as AuthStatus
}
