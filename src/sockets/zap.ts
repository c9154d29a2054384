/** Asks the handler of ZAP whether a peer may come in (RFC 27). */
import type * as zmq from "zeromq"
import { zmqError } from "../transport/zmq-error.js"
import { loadZeromq } from "../zeromq.js"
import type { AuthStatus, Credentials } from "../zmtp/handshake.js"
import { readMetadata } from "../zmtp/metadata.js"

const { Dealer, Reply } = loadZeromq()

const ADDRESS = "inproc://zeromq.zap.01"
const VERSION = "1.0"
/** Each request has a pipe of its own, as libzmq's have. */
const REQUEST_ID = "1"
const REPLY_PARTS = 7

/** What a handler is told besides the credentials. */
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

/** Whether a handler is there: a name that is taken cannot be bound. */
function hasHandler(context: zmq.Context): boolean {
  const probe = new Reply({ context, linger: 0 })
  try {
    probe.bindSync(ADDRESS)
    return false
  } catch (error) {
    if ((error as { code?: string }).code === "EADDRINUSE") return true
    throw error
  } finally {
    probe.close()
  }
}

export function askZap(
  context: zmq.Context,
  request: ZapRequest,
  credentials: Credentials,
): PendingRequest {
  if (!hasHandler(context)) return { answer: Promise.resolve("nobody"), cancel: () => {} }
  const dealer = new Dealer({ context, linger: 0 })
  const cancel = () => {
    if (!dealer.closed) dealer.close()
  }
  const ask = async (): Promise<ZapAnswer> => {
    dealer.connect(ADDRESS)
    await dealer.send([
      "",
      VERSION,
      REQUEST_ID,
      request.domain,
      request.address,
      Buffer.from(request.routingId),
      credentials.mechanism,
      ...credentials.values.map((value) => Buffer.from(value)),
    ])
    const reply = await dealer.receive()
    return readReply(reply)
  }
  const answer = ask()
    .catch((): ZapAnswer => "ZAP_UNSPECIFIED")
    .finally(cancel)
  return { answer, cancel }
}

/** The error code of zeromq.js where there is no handler, and one is needed. */
export function noHandler(): Error {
  return zmqError("EFAULT")
}

function readReply(reply: readonly Buffer[]): AuthStatus | ZapFailure {
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
  if (id.toString("latin1") !== REQUEST_ID) return "ZAP_BAD_REQUEST_ID"
  const code = status.toString("latin1")
  if (!/^[2-5]00$/.test(code)) return "ZAP_INVALID_STATUS_CODE"
  if (!readMetadata(metadata)) return "ZAP_INVALID_METADATA"
  return Number(code) as AuthStatus
}
