/** Attacks on the memory of a process. Each defines a test. */
import { describe, expect, test } from "vitest"

import { noise, Script } from "./running-script.js"
import { ADDRESS, attacker, flood, type Held, Honest, printsMemory, Victim } from "./victim.js"
import { concat, plainPart } from "./wire.js"
import { COMMAND, frame, frameHead, MORE, message } from "./zmtp.js"

const MIB = 2 ** 20
/** Limit of memory growth, whatever one peer does. */
export const HELD_MAX_BYTES = 128 * MIB

export const ascii = (text: string): Uint8Array => Buffer.from(text, "latin1")
export const command = (name: string, data: Uint8Array): Uint8Array =>
  frame(concat(Uint8Array.of(name.length), ascii(name), data), COMMAND)
const repeat = (bytes: Uint8Array, times: number): Buffer =>
  Buffer.alloc(bytes.length * times, bytes)

function* times(count: number, make: (i: number) => Uint8Array): Generator<Uint8Array> {
  for (let i = 0; i < count; i++) yield make(i)
}

/** A peer that sends many bytes, whether or not they are read. */
const flooding =
  (chunks: Iterable<Uint8Array>, socketType?: string) =>
  async (victim: Victim): Promise<void> =>
    flood(await attacker(victim.endpoint, socketType), chunks, victim)

/** Checks the growth of memory. */
export type Check = (before: Held, after: Held, maxBytes: number) => void

/** Defines the tests. */
export function testAttacksOnMemory(check: Check, settings: { thread?: boolean } = {}): void {
  /**
   * Attacks a victim: its memory must stay below the limit, and an honest peer, if there is one, must not
   * notice.
   */
  async function attack(
    victim: Victim,
    how: (victim: Victim) => Promise<unknown>,
    { honest, maxBytes = HELD_MAX_BYTES }: { honest?: Honest; maxBytes?: number } = {},
  ): Promise<void> {
    await honest?.works()
    const before = await victim.state()
    await how(victim)
    await honest?.works()
    check(before, await victim.state(), maxBytes)
  }

  describe("memory stays bounded, and an honest peer notices nothing, while one sends", () => {
    test("18 MB of empty parts of one message: expelled with ERR_ZMTP_PARTS", async () => {
      const victim = await Victim.start("Pull", settings)
      const empty = repeat(frame(plainPart(ascii("")), MORE), 17_000)
      const parts = async () => {
        const socket = await attacker(victim.endpoint)
        const closed = new Promise((resolve) => socket.on("close", resolve))
        for (const chunk of times(180, () => empty)) socket.write(chunk)
        await closed
        expect(await victim.line()).toBe("protocolError ERR_ZMTP_PARTS")
      }
      await attack(victim, parts, { honest: new Honest(victim) })
    })

    test("18 MB of messages of tiny parts, which nobody receives", async () => {
      const part = plainPart(ascii("x"))
      const tiny = concat(repeat(frame(part, MORE), 65_535), frame(part))
      const victim = await Victim.start("Pull", { ...settings, idle: true })
      await attack(victim, flooding(times(40, () => tiny)))
    })

    test("64 MB of PINGs, and never reads", async () => {
      const victim = await Victim.start("Pull", settings)
      const ping = command("PING", concat(new Uint8Array(2), ascii("sixteen bytes :)")))
      const pings = repeat(ping, 10_000)
      const deaf = async () =>
        flood(
          (await attacker(victim.endpoint)).pause(),
          times(280, () => pings),
          victim,
        )
      await attack(victim, deaf, { honest: new Honest(victim) })
    })

    test("unknown commands", async () => {
      const victim = await Victim.start("Pull", settings)
      const unknown = command("UNKNOWN", new Uint8Array(MIB - 10))
      // Much more than the garbage that a thread has before it collects it: 170 MB in Node 24.
      await attack(victim, flooding(times(512, () => unknown)), { honest: new Honest(victim) })
    })

    test.each(["Publisher", "XPublisher"])(
      "a million short subscriptions to a %s",
      async (type) => {
        const victim = await Victim.start(type, { ...settings, idle: true })
        const subscriptions = times(100, (i) =>
          concat(...times(10_000, (j) => command("SUBSCRIBE", ascii(`topic ${i * 10_000 + j}`)))),
        )
        // 2^18 of them are kept, which uses the most memory in Node 24.
        await attack(victim, flooding(subscriptions, "SUB"), { maxBytes: 2 * HELD_MAX_BYTES })
      },
    )

    test.each(["Publisher", "XPublisher"])(
      "a flood of long subscriptions to a %s",
      async (type) => {
        const victim = await Victim.start(type, { ...settings, idle: true })
        const subscriptions = times(300, (i) =>
          command("SUBSCRIBE", ascii(`topic ${i}`.padEnd(1_000_000))),
        )
        await attack(victim, flooding(subscriptions, "SUB"))
      },
    )

    test("beginnings of frames, over many connections", async () => {
      const victim = await Victim.start("Pull", settings)
      const begin = async () => {
        for (let i = 0; i < 50; i++) {
          const socket = await attacker(victim.endpoint)
          socket.write(concat(frameHead(2n ** 31n), plainPart(ascii("a few bytes"))))
        }
      }
      await attack(victim, begin, { honest: new Honest(victim) })
      expect((await victim.state()).connections).toBe(51)
    })

    test("requests, and never reads", async () => {
      const victim = new Script(
        `${printsMemory} ${noise} const answer = noise(100_000);
        const router = new zmq.Router({ sendHighWaterMark: 10 }); await router.bind("${ADDRESS}"); console.log(router.lastEndpoint);
        let count = 0;
        for await (const [id] of router) { await router.send([id, answer]); if (++count === 100 || count === 5000) await printMemory(() => ({})) }`,
        {},
        "unlimited",
        settings.thread ? { ZEROMQ_LZ4_THREAD: "1" } : {},
      )
      const endpoint = await victim.line()
      const socket = (await attacker(endpoint, "DEALER")).pause()
      const requests = repeat(message(plainPart(ascii("question"))), 100)
      for (let i = 0; i < 50; i++) socket.write(requests)
      const before = JSON.parse(await victim.line())
      check(before, JSON.parse(await victim.line()), HELD_MAX_BYTES)
    })
  })
}
