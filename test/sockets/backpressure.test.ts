/** A slow reader stops the writer at the other end, and little is buffered in between. */
import { once } from "node:events"
import { connect, createServer, type Socket } from "node:net"
import { describe, expect, onTestFinished, test } from "vitest"
import { Dealer, Pull } from "zeromq-lz4"
import { Codec } from "zeromq-lz4/codec"

import { payload } from "../../bench/payloads.mjs"
import { rawZmtpPeer } from "../support/raw-peer.js"
import { Script } from "../support/running-script.js"
import { sleep } from "../support/sleep.js"
import { eventually, use } from "../support/sockets.js"
import { ANY } from "../support/threads.js"
import { concat, plainPart, SENTINELS } from "../support/wire.js"
import { frameHead, handshake, message } from "../support/zmtp.js"

const MIB = 2 ** 20

/** Values measured from outside, because the process may be blocked. */
const measured = `const { readFileSync } = await import("node:fs");
  const rss = () => Number(/VmRSS:\\s+(\\d+)/.exec(readFileSync("/proc/self/status", "utf8"))[1]) * 1024;`

/** Limit of memory growth while nobody reads, without the system's buffers. */
const HELD_MAX_BYTES = 64 * MIB

const portOf = (endpoint: string) => Number(endpoint.split(":").at(-1))

/** Connects like a PUSH socket, and never reads. */
async function rawPush(endpoint: string): Promise<Socket> {
  const socket = connect(portOf(endpoint), "127.0.0.1").on("error", () => {})
  onTestFinished(() => {
    socket.destroy()
  })
  await once(socket, "connect")
  socket.write(handshake("PUSH"))
  return socket.resume()
}

/** Writes repeatedly until the other side stops reading for a while. Returns the bytes written. */
async function fill(socket: Socket, bytes: Uint8Array, limitBytes: number): Promise<number> {
  let taken = 0
  for (;;) {
    const drained = new Promise<boolean>((resolve, reject) =>
      socket.write(bytes, (error) => (error ? reject(error) : resolve(true))),
    )
    if (!(await Promise.race([drained, sleep(1500, false)]))) return taken
    taken += bytes.length
    if (taken > limitBytes) throw new Error(`${taken} bytes were taken, and still more`)
  }
}

const listening = `${measured}
  const pull = new zmq.Pull({ receiveHighWaterMark: 1, ...argument });
  globalThis.kept = pull; // collect garbage, which also closes sockets
  process.on("SIGUSR2", () => console.log(rss()));
  setInterval(() => {}, 1000);
  await pull.bind("lz4+tcp://127.0.0.1:*"); console.log(pull.lastEndpoint);`

async function rssOf(script: Script): Promise<number> {
  script.process.kill("SIGUSR2")
  return Number(await script.line())
}

const codec = Codec.createSync()
const bomb = message(codec.encodePart(new Uint8Array(8 * MIB)))
const noise = message(codec.encodePart(Buffer.from(Array.from({ length: MIB }, Math.random))))
const plain = message(concat(SENTINELS.plain, new Uint8Array(MIB)))

describe("a process that is stuck", () => {
  test.each([
    { what: "bombs that expand 255 times", bytes: bomb },
    { what: "plain parts", bytes: plain },
    { what: "parts that hardly shrink", bytes: noise },
  ])("a reader that stops also stops a peer that sends $what", async ({ bytes }) => {
    const script = new Script(listening, {})
    const endpoint = await script.line()
    const peer = await rawPush(endpoint)
    peer.write(bytes) // set-up of the first one does not count as growth
    await sleep(200)
    const before = await rssOf(script)
    await fill(peer, bytes, 64 * MIB)
    expect((await rssOf(script)) - before).toBeLessThan(HELD_MAX_BYTES)
  })

  test("a peer that stops reading also stops the sender, which buffers little", async () => {
    const sockets: Socket[] = []
    const server = createServer((socket) => {
      sockets.push(socket.on("error", () => {}).pause())
      socket.write(handshake("PULL"))
    })
    onTestFinished(() => {
      server.close()
      for (const socket of sockets) socket.destroy()
    })
    await once(server.listen(0, "127.0.0.1"), "listening")
    const { port } = server.address() as { port: number }
    const script = new Script(
      `${measured} const { randomBytes } = await import("node:crypto");
      const push = new zmq.Push({ sendHighWaterMark: 1, sendTimeout: 1500, linger: 0 });
      push.connect("lz4+tcp://127.0.0.1:" + argument);
      const part = randomBytes(1 << 20); await push.send(part);
      const before = rss(); let sent = 0;
      try { while (sent < 100) { await push.send(part); sent++ } } catch (error) { console.log(error.code) }
      console.log(sent); console.log(rss() - before);
      process.exit()`,
      port,
    )
    expect(await script.line()).toBe("EAGAIN")
    expect(Number(await script.line())).toBeLessThan(64)
    expect(Number(await script.line())).toBeLessThan(HELD_MAX_BYTES)
  })

  test("many peers that declare 1 GiB and send a few bytes cost a few bytes", async () => {
    const script = new Script(listening, { maxMessageSize: -1 })
    const endpoint = await script.line()
    await rawPush(endpoint)
    const before = await rssOf(script)
    // The declared frame length is plausible for the declared plain size.
    const size = new Uint8Array(8)
    new DataView(size.buffer).setBigUint64(0, 2n ** 30n, true)
    const claims = concat(frameHead(5 * MIB), SENTINELS.LZ4B, size, new Uint8Array(100))
    for (let i = 0; i < 20; i++) (await rawPush(endpoint)).write(claims)
    await sleep(500) // time to allocate
    expect((await rssOf(script)) - before).toBeLessThan(HELD_MAX_BYTES)
  })
})

test("sending resumes when the reader resumes, and no message is lost", async () => {
  const pull = use(new Pull({ receiveHighWaterMark: 1 }))
  await pull.bind("lz4+tcp://127.0.0.1:*")
  const count = 2000
  const script = new Script(
    `const push = new zmq.Push({ sendHighWaterMark: 1 }); push.connect(argument.endpoint);
    const { randomBytes } = await import("node:crypto"); const noise = randomBytes(30_000);
    for (let i = 0; i < argument.count; i++) await push.send([String(i), noise])`,
    { endpoint: pull.lastEndpoint, count },
  )
  // Both ends stop before anything is read.
  let last = -1
  await eventually(async () => {
    const now = pull.lz4.stats.received.messages
    const still = now > 0 && now === last
    last = now
    await sleep(200)
    return still
  })
  expect(last).toBeLessThan(count)
  for (let i = 0; i < count; i++) expect(String((await pull.receive())[0])).toBe(String(i))
  expect(await script.ended(), script.errors).toEqual({ code: 0, signal: null })
})

test.each([0, 4, 5])(
  "close() delivers queued messages to a peer that sends before it reads on, with %d of its messages not received",
  async (unread) => {
    const part = payload("random", 64 * 1024)
    const dealer = use(new Dealer({ sendHighWaterMark: 0, receiveHighWaterMark: 5 }))
    await dealer.bind(ANY)
    const peer = use(await rawZmtpPeer(dealer.lastEndpoint as string, "DEALER"))
    const { socket } = peer
    socket.pause()
    const answer = message(plainPart(part))
    for (let i = 0; i < unread; i++) socket.write(answer)
    await eventually(() => dealer.lz4.stats.received.messages === unread)
    const count = 640
    for (let i = 0; i < count; i++) await dealer.send(part)
    dealer.linger = -1
    dealer.close()
    let came = 0
    socket.on("data", ({ length }) => {
      came += length
      socket.pause().write(answer, () => socket.resume())
    })
    socket.resume()
    await peer.closed
    expect(came).toBeGreaterThan(count * part.length)
  },
)
