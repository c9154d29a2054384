/**
 * Faults to inject into the engine, one at a time, to check that the simulator finds them: faults
 * that the engine has had, and others of their kind.
 */

/** A fault: changes to sources, each in a place that occurs only once. */
export interface Mutation {
  name: string
  patches: { file: string; from: string; to: string }[]
}

const OUTBOUND = "src/patterns/outbound.ts"
const INBOUND = "src/patterns/inbound.ts"
const CONNECTION = "src/transport/connection.ts"
const CALLERS_MEMORY = "src/transport/callers-memory.ts"
const READER = "src/transport/socket-reader.ts"
const WRITER = "src/transport/socket-writer.ts"
const TURNS = "src/transport/read-turns.ts"
const OPERATIONS = "src/sockets/operations.ts"
const LAST_POLL = "src/transport/last-poll.ts"
const LINE = "src/transport/read-order.ts"
const SEALER = "src/curve/sealer.ts"
const OPENER = "src/curve/opener.ts"
const CONNECTION_CIPHER = "src/transport/connection-cipher.ts"

export const mutations: readonly Mutation[] = [
  // -- Faults that the engine has had ----------------------------------------------
  {
    name: "a connection decodes while another does",
    patches: [
      {
        file: TURNS,
        from: "  if (isIdle() && !readable.isBehind) return true\n",
        to: "  return true\n",
      },
      {
        file: TURNS,
        from: "  line.join(readable)\n  if (!isReading) schedule()\n",
        to: "  if (readable.readSlice()) line.join(readable)\n  schedule()\n",
      },
    ],
  },
  {
    name: "a PUB that conflates shares batches, and keeps all",
    patches: [
      {
        file: "src/patterns/distribution.ts",
        from: "} else if (out.conflates) {",
        to: "} else if (out.conflates && false) {",
      },
    ],
  },
  {
    name: "a message that cannot be encoded replaces the latest of a socket that conflates",
    patches: [
      {
        file: "src/patterns/send-queue.ts",
        from: "    const chunk = this.encoder.encodeAsCame(message)\n    this.clear()\n",
        to: "    this.clear()\n    const chunk = this.encoder.encodeAsCame(message)\n",
      },
    ],
  },
  {
    name: "messages for an XPUB wait without a limit",
    patches: [
      {
        file: "src/patterns/xpub.ts",
        from: "    this.#waiting.pushMessageOf(pipe)\n    return false",
        to: "    let kept: any = message\n    const taken: any = { checkRead: () => kept !== undefined, read: () => { const read = kept; kept = undefined; return read } }\n    this.#waiting.pushMessageOf(taken)\n    this.events.readable()\n    return true",
      },
    ],
  },
  {
    name: "a peer that has closed its side is written to",
    patches: [
      {
        file: CONNECTION,
        from: "  ended(): void {\n    if (!this.#reader.isDiscarding || this.#writer.waiting.bytes === 0) {\n      this.#writer.destroy()\n      return\n    }\n    this.#writer.end()\n",
        to: "  ended(): void {\n    this.#socket.end()\n",
      },
    ],
  },
  {
    name: "a connection that this side gives up is written to",
    patches: [
      {
        file: WRITER,
        from: "    this.#isOver = true\n    this.#socket.destroy()",
        to: "    this.#socket.destroy()",
      },
      {
        file: WRITER,
        from: "    return this.#isFull || this.#isOver || this.#socket.destroyed\n",
        to: "    return this.#isFull || this.#isOver\n",
      },
    ],
  },
  {
    name: "a batch has the cells of one that is over",
    patches: [
      {
        file: "src/thread/open-batch.ts",
        from: "    if (!cells || used === CELLS) {\n      cells = newCells()\n      used = 0\n    }\n",
        to: "    cells ??= newCells()\n    if (used === 2) used = 0\n    cells.fill(0, used * FIELDS, (used + 1) * FIELDS)\n",
      },
    ],
  },
  {
    name: "a message is counted before it is encoded",
    patches: [
      {
        file: OUTBOUND,
        from: "    this.queue.pushLarge(message)\n    this.credit.written++\n",
        to: "    this.credit.written++\n    this.queue.pushLarge(message)\n",
      },
    ],
  },
  {
    name: "a connection that ends decodes the rest before it hands on what it had decoded",
    patches: [
      {
        file: READER,
        from: "      this.#takeAllKept()\n      this.#takeLanded()\n",
        to: "      this.#takeLanded()\n",
      },
    ],
  },
  {
    name: "bytes are read into a message before those that wait for their turn",
    patches: [
      {
        file: READER,
        from: 'if (this.#state !== "reading") return undefined',
        to: "if (this.isDiscarding) return undefined",
      },
    ],
  },
  {
    name: "a large message that waits overtakes the batch before it",
    patches: [
      {
        file: "src/patterns/send-queue.ts",
        from: "    this.encode()\n    this.push(this.encoder.frame(message))\n",
        to: "    this.push(this.encoder.frame(message))\n",
      },
    ],
  },
  {
    name: "dictionaries are trained on what other connections were sent",
    patches: [
      {
        file: "src/codec/dictionary-groups.ts",
        from: "    const { group } = recipient\n    if (group && ",
        to: "    const { group } = recipient\n    for (const one of this.#groups) one.sample(frames, message)\n    if (group && ",
      },
    ],
  },
  {
    name: "a connection takes over the dictionary that its endpoint trained for another",
    patches: [
      {
        file: "src/codec/dictionary-groups.ts",
        from: "return this.#shared?.sender",
        to: "return [...this.#groups].find((group) => group.sender)?.sender",
      },
    ],
  },
  {
    name: "a PUSH keeps what its peers send",
    patches: [
      {
        file: "src/patterns/push.ts",
        from: "  takes(): boolean {\n    return true\n",
        to: "  takes(): boolean {\n    return false\n",
      },
    ],
  },
  // -- News of connections that no poll has brought --------------------------------
  {
    name: "what was sent after a pause is written before the event loop polls",
    patches: [
      {
        file: "src/patterns/flusher.ts",
        from: "isOutdated(nowMs) ? flushUpToDate(nowMs) : flushThose(0, nowMs)",
        to: "flushThose(0, nowMs)",
      },
      {
        file: OUTBOUND,
        from: "return isOutdated(nowMs) && !this.isUpToDate(nowMs)",
        to: "return false",
      },
    ],
  },
  {
    name: "a large message is written before the event loop polls",
    patches: [
      {
        file: OUTBOUND,
        from: "if (this.#mustPoll()) this.#flushLater()\n    else this.#writeNow()",
        to: "this.#writeNow()",
      },
    ],
  },
  {
    name: "peers are chosen before the event loop polls",
    patches: [
      {
        file: OPERATIONS,
        from: "return (this.mixed !== undefined || this.type.decidesNow) && this.#knowsOldNews",
        to: "return this.mixed !== undefined && this.#knowsOldNews",
      },
    ],
  },
  {
    name: "a connection whose peer has ended takes messages while it writes",
    patches: [
      {
        file: "src/transport/connection.ts",
        from: "if (!this.#reader.isDiscarding || this.#writer.waiting.bytes === 0) {",
        to: "if (this.#writer.waiting.bytes === 0) {",
      },
    ],
  },
  // -- Parts that are sent as they came -----------------------------------------------
  {
    name: "a part as it came is sent to a peer of another format",
    patches: [
      {
        file: "src/codec/sender.ts",
        from: 'if (packing === "frames" || dictionary || format !== this.#settings.format) return false',
        to: 'if (packing === "frames" || dictionary) return false',
      },
    ],
  },
  {
    name: "a part as it came is sent to a plain peer",
    patches: [
      {
        file: "src/codec/sender.ts",
        from: "return framesChunk(this.#builder, frames, message?.map(plainOf), formFlag)",
        to: "return framesChunk(this.#builder, frames, message?.map((part) => (part instanceof FormedPart ? part.bytes : part)), formFlag)",
      },
      {
        file: "src/codec/sender.ts",
        from: 'if (packing === "frames" || dictionary ||',
        to: "if (dictionary ||",
      },
    ],
  },
  {
    name: "an immediate is taken for a poll",
    patches: [
      {
        file: LAST_POLL,
        from: "  if (latest.polls <= one.polls) return false\n",
        to: "",
      },
      {
        file: LAST_POLL,
        from: "  return latest.ms - before.ms <= OLD_MS || ++one.busyTurns > BUSY_TURNS_MAX\n",
        to: "  return true\n",
      },
    ],
  },
  {
    name: "what a poll has brought is all that there is",
    patches: [
      {
        file: LAST_POLL,
        from: "  if (isAwaited && waitedMs < MORE_NEWS_MS) return false\n",
        to: "",
      },
    ],
  },
  {
    name: "a poll counts although the program was busy after it",
    patches: [
      {
        file: LAST_POLL,
        from: "  return latest.ms - before.ms <= OLD_MS || ++one.busyTurns > BUSY_TURNS_MAX\n",
        to: "  return true\n",
      },
    ],
  },
  {
    name: "the event loop is idle whatever it does",
    patches: [
      {
        file: LAST_POLL,
        from: "nowMs - from.ms - (idleMs - from.idleMs)",
        to: "0 * (nowMs - from.ms - (idleMs - from.idleMs))",
      },
    ],
  },
  {
    name: "a reset is no news until the connection is closed",
    patches: [
      {
        file: "src/transport/channel.ts",
        from: "function ignored(): void {\n  heard()\n",
        to: "function ignored(): void {\n",
      },
    ],
  },
  {
    name: "what waited for a poll waits for the next one on a slow machine",
    patches: [{ file: LAST_POLL, from: "  isFresh = true\n", to: "" }],
  },
  {
    name: "a message overtakes those that wait for a poll",
    patches: [
      {
        file: OPERATIONS,
        from: "if (held > 0 || this.mustPoll(message, routing))",
        to: "if (held === 0 && this.mustPoll(message, routing))",
      },
    ],
  },
  {
    name: "messages that wait for a poll are sent in another order",
    patches: [
      {
        file: "src/sockets/held-sends.ts",
        from: "    for (let next = this.#queue.shift(); next; next = this.#queue.shift()) {\n",
        to: "    const held = [...this.#queue].reverse()\n    while (this.length > 0) this.#queue.shift()\n    for (const one of held) this.#queue.push(one)\n    for (let next = this.#queue.shift(); next; next = this.#queue.shift()) {\n",
      },
    ],
  },
  {
    name: "a socket that sends without a wait is busy while the event loop has not polled",
    patches: [
      {
        file: OPERATIONS,
        from: "if (this.#sending || held > OPERATIONS_MAX)",
        to: "if (this.#sending || held > 0)",
      },
    ],
  },
  {
    name: "flush() does not wait for what waits for a poll",
    patches: [
      {
        file: "src/sockets/socket-core.ts",
        from: "      this.operations.afterSent(() => {\n",
        to: "      ;((callback: () => void) => callback())(() => {\n",
      },
    ],
  },
  {
    name: "a socket that is closed forgets what waits for a poll",
    patches: [
      {
        file: OPERATIONS,
        from: "    if (this.mixed) this.sendHeld() // libzmq's side is closed next\n",
        to: "    this.held.forget()\n",
      },
      {
        file: "src/sockets/held-sends.ts",
        from: "  get length(): number {\n",
        to: "  forget(): void {\n    while (this.length > 0) this.#queue.shift()?.resolve()\n  }\n\n  get length(): number {\n",
      },
    ],
  },
  // -- Others ----------------------------------------------------------------------
  {
    name: "arenas go to peers that send some, whatever they announced",
    patches: [
      {
        file: CONNECTION,
        from: 'this.#packing === "parts" && this.peerRevision === undefined',
        to: 'this.#packing === "parts"',
      },
    ],
  },
  {
    name: "arenas go to peers that announced revision 1",
    patches: [
      {
        file: "src/codec/packing.ts",
        from: "(peerRevision ?? 1) >= ARENAS_REVISION",
        to: "(peerRevision ?? 1) >= 1",
      },
    ],
  },
  {
    name: "a connection is not resumed",
    patches: [
      {
        file: INBOUND,
        from: "    if (this.isEmpty) return true\n    if (this.#parts",
        to: "    if (this.isEmpty) return false\n    if (this.#parts",
      },
    ],
  },
  {
    name: "a connection that bytes have stopped is not resumed",
    patches: [
      {
        file: INBOUND,
        from: "if (this.#bytes > this.#maxBytes / 2) return false",
        to: "if (this.#maxBytes < 2000) return false",
      },
    ],
  },
  {
    name: "the receive mark is off by one",
    patches: [
      {
        file: INBOUND,
        from: "this.#messages.length, this.#read) >= max",
        to: "this.#messages.length, this.#read) > max",
      },
    ],
  },
  {
    name: "the send mark is off by one",
    patches: [
      {
        file: "src/patterns/send-credit.ts",
        from: "this.written - this.sent, this.sent) < max",
        to: "this.written - this.sent, this.sent) <= max",
      },
    ],
  },
  {
    name: "a chunk is released twice",
    patches: [
      {
        file: WRITER,
        from: "    for (const written of this.#writing) if (written instanceof Chunk) written.release()",
        to: "    for (const written of this.#writing)\n      if (written instanceof Chunk) {\n        written.release()\n        written.release()\n      }",
      },
    ],
  },
  {
    name: "a chunk is released before it is written",
    patches: [
      {
        file: WRITER,
        from: "      this.#writing.push(item)",
        to: "      if (item instanceof Chunk) item.release()",
      },
    ],
  },
  {
    name: "a grant of messages is forgotten",
    patches: [
      {
        file: "src/thread/remote-connection.ts",
        from: "2 * (this.#received + this.#mark - this.#granted) >= this.#mark",
        to: "2 * (this.#received + this.#mark - this.#granted) > 2 * this.#mark",
      },
    ],
  },
  {
    name: "who waits for writes of a thread is not told",
    patches: [
      {
        file: "src/thread/shared-state.ts",
        from: "((flushed - wanted) | 0) < 0) return false",
        to: "((flushed - wanted) | 0) <= 0) return false",
      },
    ],
  },
  {
    name: "frames after a large body of a thread come before it",
    patches: [
      {
        file: "src/thread/worker-outbox.ts",
        from: "    this.#add(fromWorker.BODY, connection, flags, memory)",
        to: "    this.#message.push(fromWorker.BODY, connection, flags, memory)\n    this.#postSoon()",
      },
    ],
  },
  {
    name: "different writes of a thread have the same number",
    patches: [
      {
        file: "src/thread/thread.ts",
        from: "numbers.set(chunk, ++lastNumber)",
        to: "numbers.set(chunk, (lastNumber = 1))",
      },
    ],
  },
  {
    name: "a chunk that a thread keeps for late connections has no reference for it",
    patches: [
      {
        file: "src/thread/encoded-writes.ts",
        from: "chunk.share(2)",
        to: "chunk.share(1)",
      },
    ],
  },
  {
    name: "subscriptions are not sent again",
    patches: [
      {
        file: "src/patterns/xsub.ts",
        from: `  override hiccuped(pipe: Pipe): void {
    for (const topic of this.topics) pipe`,
        to: `  override hiccuped(pipe: Pipe): void {
    if (pipe.peerRoutingId !== undefined) return
    for (const topic of this.topics) pipe`,
      },
    ],
  },
  {
    name: "a topic that is subscribed to later is not sent",
    patches: [
      {
        file: "src/patterns/xsub.ts",
        from: 'this.out.commandToAll("SUBSCRIBE", Buffer.from(topic), isFirst)',
        to: "",
      },
    ],
  },
  {
    name: "a topic that is cancelled is still received",
    patches: [
      {
        file: "src/patterns/subscriptions.ts",
        from: "    if (--node.value > 0) return false\n    this.#counts.remove(node)\n",
        to: "    if (--node.value >= 0) return false\n    this.#counts.remove(node)\n",
      },
    ],
  },
  {
    name: "peers that speak tcp:// are sent parts",
    patches: [
      {
        file: CONNECTION,
        from: '    this.#packing = this.#sender.packingFor(this.peerRevision)\n    if (this.#packing === "frames") {',
        to: "    this.#packing = this.#sender.packingFor(this.peerRevision ?? 1)\n    if (this.#options.acceptsPlain && this.peerRevision === undefined) {",
      },
    ],
  },
  {
    name: "a plain peer is left in its handshake",
    patches: [
      {
        file: CONNECTION,
        from: '    else if (event.type === "ready") this.#ready()\n',
        to: '    else if (event.type === "ready") {\n      if (this.#options.acceptsPlain && this.peerRevision === undefined) return\n      this.#ready()\n    }\n',
      },
    ],
  },
  {
    name: "what waited for peers of one kind goes to one of the other as it is",
    patches: [
      {
        file: "src/patterns/peer-encoder.ts",
        from: "return isForeign || !chunk.fits(this.packing)",
        to: "return isForeign",
      },
    ],
  },
  {
    name: "a batch is not flushed",
    patches: [
      {
        file: OUTBOUND,
        from: "    this.credit.written++\n    this.#flushLater()",
        to: "    this.credit.written++\n    if (this.queue.batched > 1) this.#flushLater()",
      },
    ],
  },
  {
    name: "a view of the module's memory is kept",
    patches: [
      {
        file: "src/zmtp/frame-reader.ts",
        from: "    const body = Buffer.allocUnsafeSlow(bodyBytes)\n    copyShared(body, 0, bytes.subarray(start, stop))",
        to: "    const body = Buffer.from(bytes.buffer as ArrayBuffer, bytes.byteOffset + start, bodyBytes)",
      },
    ],
  },
  {
    name: "who waits to send is not told of room",
    patches: [
      {
        file: OUTBOUND,
        from: "    this.#writeWaiting()\n    this.#checkWriteActive()",
        to: "    this.#writeWaiting()\n    if (this.credit.written % 2 === 0) this.#checkWriteActive()",
      },
    ],
  },
  {
    name: "a fair queue passes over a pipe that has messages again",
    patches: [
      {
        file: "src/patterns/round-robin.ts",
        from: "    this.#active--\n    this.#pipes.swap(index, this.#active)",
        to: "    this.#active--\n    this.#pipes.swap(index, 0)",
      },
    ],
  },
  {
    name: "what a thread has not written is sent before what it has",
    patches: [
      {
        file: "src/patterns/pending-writes.ts",
        from: "    for (const item of items) this.push(item)",
        to: "    for (const item of [...items].reverse()) this.push(item)",
      },
    ],
  },
  {
    name: "a connection that ends keeps what it had read",
    patches: [
      {
        file: CONNECTION,
        from: "    this.#reader.readRest()\n    this.#heartbeat",
        to: "    this.#heartbeat",
      },
    ],
  },
  {
    name: "a timer stays when a dialer is closed",
    patches: [
      {
        file: "src/transport/dialer.ts",
        from: "    this.#closed = true\n    clearTimeout(this.#pause)",
        to: "    this.#closed = true",
      },
    ],
  },
  {
    name: "a dialer does not try again after an error",
    patches: [
      {
        file: "src/transport/dialer.ts",
        from: "    } else {\n      this.#retry(error ?? unfinished(ending))\n    }",
        to: "    } else if (error === undefined) {\n      this.#retry(unfinished(ending))\n    }",
      },
    ],
  },
  {
    name: "what a socket has sent is lost when it disconnects",
    patches: [
      {
        file: "src/sockets/endpoints/endpoint.ts",
        from: "if (lingerMs === 0) this.#expire()",
        to: "if (lingerMs <= 0) this.#expire()",
      },
    ],
  },
  {
    name: "a transcoder is not closed",
    patches: [{ file: CONNECTION, from: "    this.#reader.close()\n", to: "" }],
  },
  {
    name: "a ROUTER forgets the name of whom it connects to",
    patches: [
      {
        file: "src/sockets/endpoints/endpoint-registry.ts",
        from: 'endpoint.dial(connectRoutingId?.toString("latin1"))',
        to: "endpoint.dial(undefined)",
      },
    ],
  },
  {
    name: "who is not let in is let in",
    patches: [
      {
        file: "src/zmtp/null-plain.ts",
        from: "if (status !== undefined && status !== 200) {",
        to: "if (status === 300) {",
      },
    ],
  },
  {
    name: "an answer of ZAP is taken for the oldest request",
    patches: [
      {
        file: "src/sockets/zap.ts",
        from: "const id = this.#sent.has(named) ? named : oldest\n",
        to: "const id = oldest\n",
      },
      {
        file: "src/sockets/zap.ts",
        from: "readReply(reply, id, ",
        to: "readReply(reply, named, ",
      },
    ],
  },
  {
    name: "requests to ZAP of connections that are over stay",
    patches: [
      {
        file: "src/sockets/zap.ts",
        from: "?.cancel()\n",
        to: "\n",
      },
    ],
  },
  {
    name: "a paused proxy drops a message",
    patches: [
      {
        file: "src/sockets/proxy.ts",
        from: "if (hasOut && hasIn && !this.#isPaused) {\n",
        to: "if (hasIn && this.#isPaused) from.tryReceive()\n      if (hasOut && hasIn && !this.#isPaused) {\n",
      },
    ],
  },
  {
    name: "a ROUTER assigns a routing id that a peer has",
    patches: [
      {
        file: "src/patterns/router.ts",
        from: "if (!this.#out.has(id)) return id",
        to: "return id",
      },
    ],
  },
  {
    name: "a PUB that inverts sends what was subscribed to",
    patches: [
      {
        file: "src/patterns/xpub.ts",
        from: "if (this.options.invertMatching) out.reverseMatch()",
        to: "if (this.options.invertMatching && out.checkHwm() && false) out.reverseMatch()",
      },
    ],
  },
  {
    name: "a SUB that inverts receives what it subscribed to",
    patches: [
      {
        file: "src/patterns/sub.ts",
        from: "!== this.options.invertMatching\n",
        to: "!== false\n",
      },
    ],
  },
  {
    name: "an XPUB greets its subscribers twice",
    patches: [
      {
        file: "src/patterns/xpub.ts",
        from: "if (welcomeMessage.length > 0) pipe.out.write([welcomeMessage])",
        to: "if (welcomeMessage.length > 0) for (let i = 0; i < 2; i++) pipe.out.write([welcomeMessage])",
      },
    ],
  },
  {
    name: "an XPUB that decides by itself subscribes whom it last heard of",
    patches: [
      {
        file: "src/patterns/xpub.ts",
        from: "if (this.options.manual) this.#last = this.out.has(pipe) ? pipe : undefined",
        to: "if (this.options.manual) this.#last ??= pipe",
      },
    ],
  },
  {
    name: "a line without shares",
    patches: [
      {
        file: LINE,
        from: "  one.startMs < other.startMs || (one.startMs === other.startMs && one.number < other.number)\n",
        to: "  one.number < other.number\n",
      },
    ],
  },
  {
    name: "new connections decode before those that have been quiet",
    patches: [
      {
        file: LINE,
        from: "    if (shareMs === undefined) return this.#virtualMs + this.#turnMs\n",
        to: "    if (shareMs === undefined) return this.#virtualMs - CREDIT_MS\n",
      },
    ],
  },
  {
    name: "subscriptions are read without a look at the clock",
    patches: [
      {
        file: "src/zmtp/session.ts",
        from: "return this.#handlers.command(name, body.subarray(1 + name.length)) && goesOn",
        to: "return this.#handlers.command(name, body.subarray(1 + name.length))",
      },
    ],
  },
  {
    name: "a quiet connection waits for other programs",
    patches: [
      {
        file: TURNS,
        from: "  return !isReading && line.goesFirst(readable) && aheadMs < TURN_MAX_MS\n",
        to: "  return false\n",
      },
      {
        file: TURNS,
        from: "      if (readable.isBehind && !next.isQuiet) {\n",
        to: "      if (readable.isBehind || line.holds) {\n",
      },
    ],
  },
  {
    name: "a quiet connection goes before others that used less",
    patches: [
      {
        file: LINE,
        from: "    return first === undefined || this.#startOf(readable) < first.startMs\n",
        to: "    return true\n",
      },
    ],
  },
  {
    name: "what the system took of a large part is copied, too",
    patches: [{ file: CALLERS_MEMORY, from: "rest.skip(taken ?? 0)", to: "" }],
  },
  {
    name: "a copy of some of a large part is written again",
    patches: [{ file: CALLERS_MEMORY, from: "this.skip(length)", to: "this.skip(length - 1)" }],
  },
  // -- CURVE -----------------------------------------------------------------------
  {
    name: "both sides of a connection use the same nonces",
    patches: [
      {
        file: CONNECTION_CIPHER,
        from: "ofServer: isServer, counter: sent",
        to: "ofServer: true, counter: sent",
      },
      {
        file: CONNECTION_CIPHER,
        from: "ofServer: !isServer, counter: received",
        to: "ofServer: true, counter: received",
      },
    ],
  },
  {
    name: "a nonce is used twice",
    patches: [
      {
        file: SEALER,
        from: "  constructor(curve: Curve, direction: SealedDirection) {\n    this.#cipher = new Cipher(curve, direction)\n  }",
        to: "  constructor(curve: Curve, direction: SealedDirection) {\n    const key = direction.key.slice()\n    ;(this as any).again = () => new Cipher(curve, { ...direction, key })\n    this.#cipher = new Cipher(curve, direction)\n  }",
      },
      {
        file: SEALER,
        from: "  #append(pieces: readonly Uint8Array[]): void {\n",
        to: "  #append(pieces: readonly Uint8Array[]): void {\n    this.#cipher.close()\n    this.#cipher = (this as any).again()\n",
      },
    ],
  },
  {
    name: "a counter does not have to grow",
    patches: [
      {
        file: OPENER,
        from: "    const most = Math.min(",
        to: "    const key = direction.key.slice()\n    const counter = new Uint8Array(8)\n    ;(this as any).again = () => new Cipher(curve, { ...direction, key, counter })\n    const most = Math.min(",
      },
      {
        file: OPENER,
        from: "  #openFrames(bytes: Uint8Array, sink: FramesSink): number {\n",
        to: "  #openFrames(bytes: Uint8Array, sink: FramesSink): number {\n    this.#cipher.close()\n    this.#cipher = (this as any).again()\n",
      },
    ],
  },
  {
    name: "a part is sent outside the box",
    patches: [
      {
        file: WRITER,
        from: "if (this.#cipher) sealed =",
        to: "if (this.#cipher && !(item instanceof Chunk && item.messages > 1)) sealed =",
      },
    ],
  },
  {
    name: "a command is sent outside the box",
    patches: [
      {
        file: WRITER,
        from: "if (this.#cipher) sealed =",
        to: "if (this.#cipher && item instanceof Chunk) sealed =",
      },
    ],
  },
  {
    name: "what was sent in the clear is taken",
    patches: [
      {
        file: CONNECTION_CIPHER,
        from: "      this.violation = {",
        to: '      if (reason === "UNEXPECTED_COMMAND") return received\n      this.violation = {',
      },
    ],
  },
  {
    name: "a key outlives its connection",
    patches: [{ file: READER, from: "    this.#cipher?.close()\n", to: "" }],
  },
  {
    name: "the key that a connection began with stays",
    patches: [
      {
        file: CONNECTION_CIPHER,
        from: "    } finally {\n      wipe(key)\n",
        to: "    } finally {\n",
      },
    ],
  },
  {
    name: "the state of a handshake stays",
    patches: [{ file: CONNECTION, from: "    this.#session.close()\n", to: "" }],
  },
  {
    name: "a large message is decoded before it was authenticated",
    patches: [
      {
        file: OPENER,
        from: "    if (status < 0) {\n      room.fill(0)\n      throw new CipherError(status)\n    }\n",
        to: "",
      },
      {
        file: OPENER,
        from: "    sink(room.subarray(first, frame.length))\n",
        to: "    sink(room.subarray(first, frame.length))\n    if (status < 0) throw new CipherError(status)\n",
      },
    ],
  },
  {
    name: "a message that was changed is left out, and the connection goes on",
    patches: [
      {
        file: OPENER,
        from: "    if (status < 0)\n      throw new CipherError(status, status !== NOT_MESSAGE || this.#isCommand(bytes, read))\n    return read\n",
        to: "    return status < 0 ? length : read\n",
      },
    ],
  },
  {
    name: "handshakes of CURVE do not wait for their turn",
    patches: [
      {
        file: READER,
        from: "    return this.#hasCurve && !this.#session.isReady\n",
        to: "    return false\n",
      },
    ],
  },
  {
    name: "a client that ZAP refuses is let in",
    patches: [
      {
        file: "src/zmtp/curve-server.ts",
        from: "if (status !== undefined && status !== 200) {",
        to: "if (status === 300) {",
      },
    ],
  },
  {
    name: "the parts in all queues of a socket have no limit",
    patches: [
      {
        file: INBOUND,
        from: "    if (!this.isEmpty && this.#queued.isFullFor(this.#parts)) return true\n",
        to: "",
      },
    ],
  },
  {
    name: "a packed message loses a part",
    patches: [
      {
        file: "src/patterns/packed-message.ts",
        from: "    return message\n",
        to: "    return message.slice(0, -1)\n",
      },
    ],
  },
  {
    name: "frames of a thread that were kept are not read",
    patches: [
      {
        file: "src/thread/remote-reader.ts",
        from: "    this.#isStopped = false\n    if (this.#kept) this.#connection.readSoon(this)\n",
        to: "    this.#isStopped = false\n",
      },
    ],
  },
  // -- Formats -----------------------------------------------------------------------
  {
    name: "each side takes the format that it announces first",
    patches: [
      {
        file: "src/zmtp/revision.ts",
        from: '  return common.find(({ format }) => format === "zstd")\n',
        to: "  return common.find(({ format }) => format === own[0])\n",
      },
    ],
  },
  {
    name: "a reader keeps the endpoint's own format",
    patches: [{ file: CONNECTION, from: "    this.#reader.receiveAs(settings)\n", to: "" }],
  },
  {
    name: "messages to several go in the endpoint's own format",
    patches: [
      {
        file: "src/patterns/peer-encoder.ts",
        from: "    return this.encoding?.sender ?? this.common\n",
        to: "    return this.#common\n",
      },
    ],
  },
]
