/** A slow reader stops the writer at the other end, and little is buffered in between: tests that check memory. */
import type { Socket } from "node:net"
import { describe, expect, onTestFinished, test } from "vitest"
import { Codec } from "zeromq-lz4/codec"

import { payload } from "../../bench/payloads.mjs"
import type { Check } from "./memory-attacks.js"
import { rawPeer, rawZmtpPeer } from "./raw-peer.js"
import { noise, Script } from "./running-script.js"
import { sleep } from "./sleep.js"
import { eventually } from "./sockets.js"
import { stalledPeer } from "./stalled-peer.js"
import { type Held, printsMemory } from "./victim.js"
import { concat, SENTINELS } from "./wire.js"
import { frameHead, handshake, message } from "./zmtp.js"

const MIB = 2 ** 20

/** Limit of memory growth while nobody reads, without the system's buffers. */
const HELD_MAX_BYTES = 64 * MIB

/** Connects like a PUSH socket, and never reads. */
async function rawPush(endpoint: string): Promise<Socket> {
  const { socket } = await rawPeer(endpoint, handshake("PUSH"))
  onTestFinished(() => {
    socket.destroy()
  })
  return socket
}

/**
 * Writes repeatedly until the other side stops reading for a while. If it is only slow, because the machine
 * is busy, less is written.
 */
async function fill(socket: Socket, bytes: Uint8Array, limitBytes: number): Promise<void> {
  let taken = 0
  for (;;) {
    const drained = new Promise<boolean>((resolve, reject) =>
      socket.write(bytes, (error) => (error ? reject(error) : resolve(true))),
    )
    if (!(await Promise.race([drained, sleep(1500, false)]))) return
    taken += bytes.length
    if (taken > limitBytes) throw new Error(`${taken} bytes were taken, and still more`)
  }
}

const listening = `${printsMemory}
  const pull = new zmq.Pull({ receiveHighWaterMark: 1, ...argument });
  globalThis.kept = pull; // collect garbage, which also closes sockets
  process.on("SIGUSR2", () => printMemory(() => pull.lz4.stats.received));
  setInterval(() => {}, 1000);
  await pull.bind("lz4+tcp://127.0.0.1:*"); console.log(pull.lastEndpoint);`

async function stateOf(script: Script): Promise<Held & { messages: number }> {
  script.process.kill("SIGUSR2")
  return JSON.parse(await script.line())
}

const codec = Codec.createSync()
const bomb = message(codec.encodePart(new Uint8Array(8 * MIB)))
const random = message(codec.encodePart(payload("random", MIB)))
const plain = message(concat(SENTINELS.plain, new Uint8Array(MIB)))

/** Defines the tests. */
export function testStuckProcesses(check: Check, { thread = false } = {}): void {
  const environment: Record<string, string> = thread ? { ZEROMQ_LZ4_THREAD: "1" } : {}
  const start = (source: string, argument: unknown) =>
    new Script(source, argument, "unlimited", environment)

  describe("a process that is stuck", () => {
    test.each([
      { what: "bombs that expand 255 times", bytes: bomb },
      { what: "plain parts", bytes: plain },
      { what: "parts that hardly shrink", bytes: random },
    ])("a reader that stops also stops a peer that sends $what", async ({ bytes }) => {
      const script = start(listening, {})
      const endpoint = await script.line()
      const peer = await rawPush(endpoint)
      peer.write(bytes) // set-up of the first one does not count as growth
      const before = await eventually(async () => {
        const state = await stateOf(script)
        return state.messages > 0 && state
      })
      await fill(peer, bytes, 64 * MIB)
      check(before, await stateOf(script), HELD_MAX_BYTES)
    })

    test("a peer that stops reading also stops the sender, which buffers little", async () => {
      const { endpoint } = await stalledPeer()
      // On a busy machine sendTimeout may expire earlier: less is sent then.
      const script = start(
        `${printsMemory} ${noise}
        const push = new zmq.Push({ sendHighWaterMark: 1, linger: 0 });
        push.connect(argument);
        const part = noise(1 << 20); await push.send(part); push.sendTimeout = 1500;
        await printMemory(() => ({})); let sent = 0;
        try { while (sent < 100) { await push.send(part); sent++ } } catch (error) { console.log(error.code) }
        console.log(sent); await printMemory(() => ({}));
        process.exit()`,
        endpoint,
      )
      const before = JSON.parse(await script.line())
      expect(await script.line()).toBe("EAGAIN")
      expect(Number(await script.line())).toBeLessThan(64)
      check(before, JSON.parse(await script.line()), HELD_MAX_BYTES)
    })

    test("many peers that declare 1 GiB and send a few bytes cost a few bytes", async () => {
      const script = start(listening, { maxMessageSize: -1 })
      const endpoint = await script.line()
      await rawPush(endpoint)
      const before = await stateOf(script)
      // The declared frame length is plausible for the declared plain size.
      const size = new Uint8Array(8)
      new DataView(size.buffer).setBigUint64(0, 2n ** 30n, true)
      const claims = concat(frameHead(5 * MIB), SENTINELS.LZ4B, size, new Uint8Array(100))
      for (let i = 0; i < 20; i++) (await rawPush(endpoint)).write(claims)
      // Peers that connect later have been answered: the claims were read before.
      for (let i = 0; i < 3; i++) (await rawZmtpPeer(endpoint, "PUSH")).close()
      check(before, await stateOf(script), HELD_MAX_BYTES)
    })
  })
}
