import type { MessagePort } from "node:worker_threads"
import type { Chunk } from "../codec/chunk.js"
import { TRAINED_MAX } from "../codec/dictionary-groups.js"
import { fitted, hasForms, readParts } from "../codec/formed-part.js"
import type { Packing } from "../codec/packing.js"
import { Sender } from "../codec/sender.js"
import type { HostPort } from "../transport/address.js"
import type { Connection } from "../transport/connection.js"
import type { ConnectionEncoding } from "../transport/connection-encoding.js"
import type { Dialer } from "../transport/dialer.js"
import { encodeMeasured, type MeasuredOptions } from "../transport/encode-measured.js"
import type { Listener } from "../transport/listener.js"
import { LocalTransport } from "../transport/local-transport.js"
import type { EndpointEvent } from "../transport/transport.js"
import { type EncodedWrite, EncodedWrites } from "./encoded-writes.js"
import { HostedConnection, type Write } from "./hosted-connection.js"
import { toPlain } from "./plain-error.js"
import { type EndpointSpec, type ListenResult, NOT_SHARED, type PostedEvent } from "./protocol.js"
import type { WorkerOutbox } from "./worker-outbox.js"

/** Number of consecutive writes of a single connection after which there is no group. */
const ALONE_MAX = 100

const NO_FRAMES = new Uint8Array(0)

let lastConnection = 0

/** Encodes a message with parts as they came, which are sent like that where that is possible. */
function encodeKept(
  sender: Sender,
  encoding: ConnectionEncoding | undefined,
  { bytes }: Write,
  options: MeasuredOptions & { packing: Packing; stays: boolean },
): Chunk {
  // Only the memory of a write that one connection makes stays until it is written.
  const message = readParts(options.stays ? bytes : new Uint8Array(bytes))
  const sent = fitted(message, (part) => sender.forwards(part, options.packing))
  return encodeMeasured(sender, hasForms(sent) ? undefined : encoding, NO_FRAMES, sent, options)
}

/** An endpoint on a worker, which reports its events to the socket thread. */
export class HostedEndpoint {
  readonly #number: number
  readonly #outbox: WorkerOutbox
  readonly #credit: number
  readonly #sender: Sender
  readonly #target: Listener | Dialer
  readonly #live = new Map<Connection, HostedConnection>()
  /** Those of all endpoints of this worker. */
  readonly #connections: Map<number, HostedConnection>
  readonly #gone: () => void
  keepsForms: boolean
  #isClosed = false
  #isGone = false
  readonly #writes = new EncodedWrites<HostedConnection>()
  /** The connections that made the latest write that several connections make. */
  #group: readonly HostedConnection[] = []
  /** Number of consecutive writes that only one connection made. */
  #alone = 0
  /** Messages for the connection, to be written as the process exits. */
  #deliveries: Write[] = []

  constructor(
    number: number,
    { options, tcp, credit, destination, keepsForms = false }: EndpointSpec,
    outbox: WorkerOutbox,
    connections: Map<number, HostedConnection>,
    gone: () => void,
  ) {
    this.#number = number
    this.#outbox = outbox
    this.#credit = credit
    this.keepsForms = keepsForms
    this.#connections = connections
    this.#gone = gone
    this.#sender = new Sender(options.settings, options.acceptsPlain)
    const transport = new LocalTransport({ ...options, sender: this.#sender, relays: true }, tcp)
    const onEvent = (event: EndpointEvent<Connection>) => this.#onEvent(event)
    this.#target = destination
      ? transport.dialer(destination, onEvent)
      : transport.listener(onEvent)
  }

  /**
   * Listens at an address. Posts the result to `port` and wakes the thread that waits for `signal`;
   * without them, reports it as an event.
   */
  listen(address: HostPort, port: MessagePort | undefined, signal: Int32Array | undefined): void {
    let result: ListenResult
    try {
      result = { address: (this.#target as Listener).listenSync(address) }
    } catch (error) {
      result = { error: toPlain(error as Error) }
    }
    if (!port || !signal) {
      this.#post({ type: "listening", result })
      return
    }
    port.postMessage(result)
    Atomics.store(signal, 0, 1)
    Atomics.notify(signal, 0)
    port.close()
  }

  dial(): void {
    ;(this.#target as Dialer).dial()
  }

  /** Writes frames of whole messages, at once or after the handshake. They are lost if that fails. */
  deliver(frames: Uint8Array[]): void {
    this.#deliveries = frames.map((bytes) => ({
      bytes,
      number: NOT_SHARED,
      hasForms: hasForms(readParts(bytes)),
    }))
    ;(this.#target as Dialer).hurry()
    for (const hosted of this.#live.values())
      if (hosted.connection.sink === hosted) this.#deliverTo(hosted)
  }

  #deliverTo(hosted: HostedConnection): void {
    const deliveries = this.#deliveries
    this.#deliveries = []
    for (const write of deliveries) hosted.write(write)
  }

  /** Number of steps until a connection can write the deliveries; 0 if there are none. */
  get remaining(): number {
    if (this.#deliveries.length === 0) return 0
    return this.#live.size > 0 ? 1 : 2
  }

  close(): void {
    this.#isClosed = true
    this.#target.close()
    this.#checkGone()
  }

  #checkGone(): void {
    if (!this.#isClosed || this.#isGone || this.#live.size > 0) return
    this.#isGone = true
    this.#writes.clear()
    this.#sender.close()
    this.#post({ type: "gone" })
    this.#gone()
  }

  /** Returns the encoded chunk of a write, which connections that make the same write share. */
  encode(write: Write, hosted: HostedConnection): Chunk {
    const { connection } = hosted
    const { packing } = connection
    this.#findGroup(write, hosted)
    const forms = this.#writes.formsOf(write.number)
    const sender = this.#senderFor(connection.encoding, forms)
    let chunk = forms.find((form) => form.sender === sender && form.packing === packing)?.chunk
    if (chunk) chunk.share(2)
    else {
      // One effort is chosen for each sender of a write, and none for frames, which are not compressed.
      const chosen = forms.find((form) => form.sender === sender && form.packing !== "frames")
      const encoding = packing === "frames" || chosen ? undefined : connection.encoding
      const group = this.#group.includes(hosted) ? this.#group : [hosted]
      const effort = chosen ? chosen.effort : encoding?.nextEffort(group, sender)
      // A write of one connection keeps its memory until it is written.
      const stays = write.number === NOT_SHARED
      const options = { packing, effort, stays }
      chunk = write.hasForms
        ? encodeKept(sender, encoding, write, options)
        : encodeMeasured(sender, encoding, write.bytes, undefined, options)
      this.#writes.keep(write.number, { sender, packing, effort, chunk })
    }
    if (!write.hasForms) this.#sample(write, connection.encoding)
    return chunk
  }

  /** Returns the sender of a connection; the common one if a write has too many dictionaries already. */
  #senderFor(encoding: ConnectionEncoding | undefined, forms: readonly EncodedWrite[]): Sender {
    const common = encoding?.common ?? this.#sender
    const sender = encoding?.sender ?? common
    if (sender === common || forms.length < TRAINED_MAX) return sender
    const used = new Set(forms.map((form) => form.sender))
    used.delete(common)
    return used.has(sender) || used.size < TRAINED_MAX ? sender : common
  }

  /** Trains dictionaries on a write that was encoded for a connection. */
  #sample({ bytes, number }: Write, encoding: ConnectionEncoding | undefined): void {
    if (!encoding?.trains) return
    if (number === NOT_SHARED) encoding.sampled([encoding], bytes)
    else encoding.sampledAlone(number, bytes)
  }

  /**
   * Makes the connections that make the same write the group. If there is only one, it may just be
   * catching up, so the group stays for a while.
   */
  #findGroup({ number }: Write, hosted: HostedConnection): void {
    const connections = number === NOT_SHARED ? [hosted] : this.#writes.join(number, hosted)
    if (connections.length > 1) {
      this.#group = connections
      this.#alone = 0
    } else if (++this.#alone > ALONE_MAX) this.#group = []
  }

  #post(event: PostedEvent): void {
    this.#outbox.event(this.#number, event)
  }

  // -- Events ----------------------------------------------------------------------

  #onEvent(event: EndpointEvent<Connection>): void {
    switch (event.type) {
      case "opened":
        this.#opened(event.connection)
        break
      case "ready":
        this.#ready(event.connection, event.peerRoutingId)
        break
      case "effortChanged":
        this.#hosted(event.connection).state.effort = event.connection.effort
        this.#passOn(event)
        break
      case "attemptFailed":
        this.#deliveries = []
        this.#passOn(event)
        break
      case "closed":
        this.#passOn(event)
        this.#closed(event.connection)
        break
      default:
        this.#passOn(event)
    }
  }

  /** Posts an event of the transport, with the connection's number and a plain error. */
  #passOn(event: EndpointEvent<Connection>): void {
    const posted: Record<string, unknown> = { ...event }
    if ("connection" in event) posted.connection = this.#hosted(event.connection).number
    if ("error" in event && event.error) posted.error = toPlain(event.error)
    this.#post(posted as PostedEvent)
  }

  #hosted(connection: Connection): HostedConnection {
    return this.#live.get(connection) as HostedConnection
  }

  #opened(connection: Connection): void {
    const number = ++lastConnection
    const hosted = new HostedConnection(number, connection, this, this.#outbox, this.#credit)
    this.#live.set(connection, hosted)
    this.#connections.set(number, hosted)
    const { remoteAddress, remotePort } = connection
    const state = hosted.state.fields
    this.#post({ type: "opened", connection: number, state, remoteAddress, remotePort })
  }

  #ready(connection: Connection, peerRoutingId: Uint8Array): void {
    const hosted = this.#hosted(connection)
    connection.sink = hosted
    hosted.state.effort = connection.effort
    const { peerTakesCommands, peerIsLibzmq, peerRevision, scheme } = connection
    this.#post({
      type: "ready",
      connection: hosted.number,
      peerRoutingId: new Uint8Array(peerRoutingId), // a copy, without the pool that it is in
      peerTakesCommands,
      peerIsLibzmq,
      peerRevision,
      scheme,
    })
    this.#deliverTo(hosted)
  }

  #closed(connection: Connection): void {
    const hosted = this.#hosted(connection)
    hosted.state.end()
    this.#connections.delete(hosted.number)
    this.#live.delete(connection)
    this.#deliveries = []
    this.#writes.clear()
    this.#group = []
    this.#checkGone()
  }

  flushed(connection: number): void {
    this.#post({ type: "flushed", connection })
  }

  /** Reports an error, which the socket thread throws as an uncaught exception. */
  threw(error: unknown): void {
    this.#post({ type: "threw", error: toPlain(error as Error) })
  }
}
