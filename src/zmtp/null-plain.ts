import { commandName, writeCommand } from "./commands.js"
import { type AuthStatus, type Credentials, Mechanism, shown } from "./mechanism.js"
import { latin1 } from "./metadata.js"

type State =
  | "start"
  | "authenticating"
  | "waiting for HELLO"
  | "waiting for WELCOME"
  | "waiting for INITIATE"
  | "waiting for READY"
  | "over"

const NOTHING = new Uint8Array(0)
/** libzmq's PLAIN server sends this instead of ERROR and its length, because of a slip in a literal. */
const LIBZMQ_ERROR = "^RROR"

/** The handshakes of NULL and PLAIN (RFC.md section 3.2). */
export class NullOrPlain extends Mechanism {
  #state: State = "start"
  /** NULL: the peer's routing id from its READY, which may arrive before the reply of ZAP. */
  #peerRoutingId: Uint8Array | undefined
  #readySent = false

  start(): void {
    const { mechanism, plainServer, authenticate, username, password } = this.settings
    if (mechanism === "PLAIN") {
      this.#state = plainServer ? "waiting for HELLO" : "waiting for WELCOME"
      if (plainServer) return
      const hello = [username.length, ...username, password.length, ...password]
      this.handlers.send(writeCommand("HELLO", Uint8Array.from(hello)))
    } else if (authenticate) {
      this.#authenticate({ mechanism, values: [] })
    } else {
      this.#state = "waiting for READY"
      this.#sendReady()
    }
  }

  /** Handles a command of the peer, or a message frame sent in its place. */
  command(body: Uint8Array, isCommand: boolean): void {
    const name = isCommand ? commandName(body) : undefined
    const data = body.subarray(1 + (name?.length ?? 0))
    const isLibzmqError = latin1(body.subarray(0, LIBZMQ_ERROR.length)) === LIBZMQ_ERROR
    if (this.settings.mechanism === "NULL") this.#null(name, data)
    else if (this.settings.plainServer) this.#server(name, data, body)
    else if (isLibzmqError) this.#client("ERROR", body.subarray(LIBZMQ_ERROR.length))
    else this.#client(name, data)
  }

  /** Handles the reply of ZAP; undefined if there is no handler, in which case NULL accepts the peer. */
  authenticated(status: AuthStatus | undefined): void {
    if (this.#state !== "authenticating") return
    if (status !== undefined && status !== 200) {
      this.refuse(status)
    } else if (this.settings.mechanism === "PLAIN") {
      this.#state = "waiting for INITIATE"
      this.handlers.send(writeCommand("WELCOME", NOTHING))
    } else {
      this.#state = "waiting for READY"
      this.#sendReady()
      this.#checkReady()
    }
  }

  #null(name: string | undefined, data: Uint8Array): void {
    if (this.#peerRoutingId !== undefined) this.unexpected(name)
    else if (name === "READY") {
      // The peer may have sent this before it learned of the refusal.
      this.#peerRoutingId = this.readPeer(data, undefined)
      this.#checkReady()
    } else if (name === "ERROR") this.readError(data)
    else this.unexpected(name)
  }

  #client(name: string | undefined, data: Uint8Array): void {
    const welcomed = this.#state === "waiting for READY"
    if (name === "ERROR" && this.#state !== "over") this.readError(data)
    else if (name === "WELCOME" && !welcomed) {
      if (data.length > 0) {
        this.fail("a WELCOME has data", "MALFORMED_COMMAND_WELCOME")
        return
      }
      this.#state = "waiting for READY"
      this.handlers.send(writeCommand("INITIATE", this.metadata()))
    } else if (name === "READY" && welcomed) {
      const routingId = this.readPeer(data, "INVALID_METADATA")
      if (routingId) this.ready(routingId)
    } else this.unexpected(name)
  }

  #server(name: string | undefined, data: Uint8Array, body: Uint8Array): void {
    if (this.#state === "waiting for HELLO") {
      if (body.length <= 1 || body.length <= (body[0] as number))
        this.fail("a command is cut short", "MALFORMED_COMMAND_UNSPECIFIED")
      else if (name === "HELLO") this.#readHello(data)
      else this.unexpected(name)
    } else if (this.#state === "waiting for INITIATE") {
      if (name !== "INITIATE") {
        this.unexpected(name)
        return
      }
      const routingId = this.readPeer(data, undefined)
      if (!routingId) return
      this.#sendReady()
      this.ready(routingId)
    } else {
      this.fail(`the command ${shown(name)} came too soon`, "UNSPECIFIED")
    }
  }

  #readHello(data: Uint8Array): void {
    const nameEnd = 1 + (data[0] ?? 0)
    if (data.length < nameEnd + 1 || data.length !== nameEnd + 1 + (data[nameEnd] as number)) {
      this.fail("a HELLO is not well-formed", "MALFORMED_COMMAND_HELLO")
      return
    }
    const values = [data.slice(1, nameEnd), data.slice(nameEnd + 1)]
    this.#authenticate({ mechanism: "PLAIN", values })
  }

  #authenticate(credentials: Credentials): void {
    this.#state = "authenticating"
    this.authenticate(credentials)
  }

  #sendReady(): void {
    this.#readySent = true
    this.handlers.send(writeCommand("READY", this.metadata()))
  }

  #checkReady(): void {
    if (this.#peerRoutingId && this.#readySent && this.#state !== "over")
      this.ready(this.#peerRoutingId)
  }

  over(): void {
    this.#state = "over"
  }
}
