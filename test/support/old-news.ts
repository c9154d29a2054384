/** Processes that send right after their event loop was blocked, and the peers that they lose meanwhile. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { expect, onTestFinished } from "vitest"
import type { EndpointOptions } from "zeromq-lz4"
import { ownHost } from "./own-host.mjs"
import { Script, slowExit } from "./running-script.js"
import { plain, threaded } from "./threads.js"
import { isOnceMore } from "./transports.js"

/** A transport, with the options of the sender's endpoint. tcp:// comes first, because it is the reference. */
export interface Way {
  name: string
  scheme: "tcp://" | "lz4+tcp://"
  /** The last arguments of `bind()` and `connect()`. */
  options: EndpointOptions[]
}

export const lz4Ways: readonly Way[] = [
  { name: "lz4+tcp://", scheme: "lz4+tcp://", options: [plain] },
  { name: "lz4+tcp:// with a thread", scheme: "lz4+tcp://", options: [threaded] },
]
export const ways: readonly Way[] = isOnceMore
  ? lz4Ways
  : [{ name: "tcp://", scheme: "tcp://", options: [] }, ...lz4Ways]

/** Returns an endpoint on a port that the system chooses. No other test dials this address. */
export const anyPortOf = ({ scheme }: Way): string => `${scheme}${ownHost}:*`

/**
 * For how long a sender sleeps as well if other threads read for it: on a busy machine, libzmq's threads may not
 * have seen what has arrived when a short block ends, and lose messages too. Ours are asked after such a sleep.
 */
const NATIVE_MS = 400
const THREAD_MS = 100

function threadsMs({ scheme, options }: Way): number {
  if (scheme === "tcp://") return NATIVE_MS
  return options.includes(threaded) ? THREAD_MS : 0
}

/**
 * The messages of a sender that say that nothing follows. A peer that has so many of them has got all that will
 * ever come: each is sent some time after the one before.
 */
const ENDS = 100

const common = `
  const { existsSync, writeSync } = await import("node:fs");
  const { createInterface } = await import("node:readline");
  const { setTimeout: sleep } = await import("node:timers/promises");
  const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
  /** Waits for the next word of the test. */
  const told = async () => (await lines.next()).value;
  /** Synchronously, since the event loop may be blocked next. */
  const tell = (text) => writeSync(1, text + "\\n");
  const make = () => new zmq[argument.type](argument.settings);
  async function open(socket) {
    if (argument.connect) return socket.connect(argument.connect, ...argument.options);
    await socket.bind(argument.bind, ...argument.options);
    tell(socket.lastEndpoint);
  }`

/** What blocks an event loop. Each takes some milliseconds. */
const blocking = `
  const cell = new Int32Array(new SharedArrayBuffer(4));
  const { pbkdf2Sync } = await import("node:crypto");
  const json = JSON.stringify(Array.from({ length: 50_000 }, (_, i) => ({ i })));
  const work = {
    sleeps: () => Atomics.wait(cell, 0, 0, 2),
    computes: () => { for (const end = performance.now() + 2; performance.now() < end; ); },
    hashes: () => pbkdf2Sync("password", "salt", 40_000, 32, "sha256"),
    parses: () => JSON.parse(json),
  };
  /** Blocks the event loop until the test has released it, and for some time. */
  function block() {
    tell("blocked");
    while (!existsSync(argument.release)) work[argument.by]();
    const end = performance.now() + argument.ms;
    while (performance.now() < end) work[argument.by]();
    Atomics.wait(cell, 0, 0, argument.threadsMs);
    }`
export type Work = "sleeps" | "computes" | "hashes" | "parses"

const sending = `${common}${blocking}
  /** Sends until the test says that all peers have received something. */
  async function greet(socket, to = []) {
    let greeting = true;
    void told().then(() => { greeting = false });
    // More and more slowly: zeromq.js lets nothing but 512 calls in a row take effect at once, and rejects what
    // is sent without waiting after these.
    for (let pauseMs = 5; greeting; pauseMs = Math.min(1.3 * pauseMs, 300)) {
      await socket.send([...to, "hello"]).catch(() => {}); // EHOSTUNREACH of a ROUTER
      await sleep(pauseMs);
    }
  }
  /** Sends numbered messages in one turn: each when the one before was accepted, or without waiting. */
  async function burst(socket) {
    const sends = [];
    for (let i = 0; i < argument.count; i++) {
      const sent = socket.send(String(i));
      if (argument.waits) await sent;
      else sends.push(sent);
    }
    const failed = (await Promise.allSettled(sends)).find(({ reason }) => reason);
    tell(failed ? failed.reason.code : "sent");
  }
  async function end(socket, to = []) {
    for (;;) {
      await sleep(20);
      await socket.send([...to, "end"]).catch(() => {}); // EAGAIN if it does not wait
    }
  }`

/** Sends a burst after the block. */
export const BURST = `
  const socket = make();
  await open(socket);
  await greet(socket);
  block();
  await burst(socket);
  await end(socket);`

/** Receives, and prints each message. */
export const RECEIVE = `
  const socket = make();
  socket.events.on("connect", () => console.log("connected"));
  socket.events.on("disconnect", () => console.log("disconnected"));
  if (argument.waits) await told();
  await open(socket);
  for await (const [message] of socket) console.log(String(message));`

interface Options {
  type: string
  settings?: object
  /** The endpoint. */
  bind?: string
  connect?: string
}

/** A process that the test tells when to go on. */
class Told extends Script {
  /** The numbers of the messages that it printed so far. */
  readonly messages: string[] = []

  constructor(source: string, argument: object) {
    super(source, argument, "unlimited", slowExit, { input: "pipe" })
  }

  goOn(): void {
    this.process.stdin?.write("go on\n")
  }

  /** Waits until it prints a word, which may follow others. */
  async says(word: string): Promise<void> {
    for (;;) {
      const line = await this.line()
      if (/^\d/.test(line)) this.messages.push(line)
      if (line === word) return
    }
  }

  async kill(): Promise<void> {
    this.process.kill("SIGKILL")
    await this.ended()
  }
}

/** A peer of a sender. */
export class Peer extends Told {
  constructor(way: Way, options: Options & { waits?: boolean }, source = RECEIVE) {
    super(common + source, { options: way.options.length > 0 ? [plain] : [], ...options })
  }
}

interface SenderOptions extends Options {
  /** For how long it still blocks when it is released. */
  ms?: number
  by?: Work
  /** How many messages it sends, and whether it waits for each. */
  count?: number
  waits?: boolean
  /** The peers that a ROUTER waits for. */
  routingIds?: readonly string[]
}

/** A process that blocks its event loop, and then sends. */
export class Sender extends Told {
  readonly #release: string

  constructor(way: Way, options: SenderOptions, source = BURST) {
    const folder = mkdtempSync(join(tmpdir(), "zeromq-lz4-old-news-"))
    onTestFinished(() => rmSync(folder, { recursive: true }))
    const release = join(folder, "release")
    const defaults = {
      ms: 30,
      threadsMs: threadsMs(way),
      by: "sleeps",
      count: 200,
      waits: true,
      options: way.options,
      release,
    }
    super(sending + source, {
      ...defaults,
      ...options,
      settings: { reconnectInterval: 10, ...options.settings },
    })
    this.#release = release
  }

  async block(): Promise<void> {
    this.goOn()
    await this.says("blocked")
  }

  release(): void {
    writeFileSync(this.#release, "")
  }
}

/** Waits until peers have got a number of messages, or all that will ever come, and returns those of each. */
async function received(peers: readonly Peer[], count: number): Promise<string[][]> {
  let total = peers.reduce((sum, { messages }) => sum + messages.length, 0)
  let complete = () => {}
  const all = new Promise<void>((resolve) => {
    complete = resolve
  })
  if (total >= count) complete()
  const each = peers.map(async (peer) => {
    for (let ends = 0; ends < ENDS && total < count; ) {
      const line = await peer.line()
      if (line === "end") ends++
      if (!/^\d/.test(line)) continue
      peer.messages.push(line)
      if (++total >= count) complete()
    }
  })
  for (const one of each) one.catch(() => {}) // The test ends its peer when all have arrived.
  await Promise.race([all, Promise.all(each)])
  return peers.map(({ messages }) => messages)
}

/** Returns how many messages of a burst do not arrive at peers. Those that do must arrive once, and in order. */
export async function lost(peers: readonly Peer[], count: number): Promise<number> {
  const got = await received(peers, count)
  const arrived = new Set(got.flat())
  expect(got.flat()).toHaveLength(arrived.size)
  for (const messages of got)
    expect(messages).toEqual([...messages].sort((a, b) => Number(a) - Number(b)))
  return count - arrived.size
}
