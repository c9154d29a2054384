/** Many messages over one connection. */
import { describe, expect, test } from "vitest"

import { payload } from "../../bench/payloads.mjs"
import { dictionary } from "../support/transports.js"
import { expectNothingLeft, inTidyChild } from "./leftovers.js"

const MESSAGES = 1_000_000

/** Their number is prime to those of everything else, so that none can take another's place. */
const payloads = Array.from({ length: 997 }, (_, i) =>
  payload(i % 10 ? "json" : "random", (i * i) % 1500, i),
)

describe("over one connection", () => {
  test(`${MESSAGES} messages arrive, each as it was, and leave nothing behind`, async () => {
    const argument = { dictionary, payloads, messages: MESSAGES }
    const { wrong, stats, ...snapshots } = await inTidyChild(
      async ({ sockets, snapshot, until, fillWasmMemory }, { dictionary, payloads, messages }) => {
        const { Pull, Push } = await sockets()
        new Pull().close() // libzmq's own threads stay
        fillWasmMemory()
        const first = await snapshot()

        const pull = new Pull()
        await pull.bind("lz4+tcp://127.0.0.1:*")
        const push = new Push()
        push.connect(pull.lastEndpoint as string, { dictionary })
        const expected = (i: number) => payloads[i % payloads.length] as Uint8Array
        let wrong = 0
        const exchange = async (from: number, to: number) => {
          const sending = (async () => {
            for (let i = from; i < to; i++) await push.send(expected(i))
          })()
          for (let i = from; i < to; i++) {
            const [body] = await pull.receive()
            if (!(body as Buffer).equals(expected(i))) wrong++
          }
          await sending
        }

        await exchange(0, messages / 5)
        const early = await snapshot()
        await exchange(messages / 5, messages)
        const late = await snapshot(early)
        const stats = { sent: push.lz4.stats.sent, received: pull.lz4.stats.received }
        push.close()
        await until(() => pull.lz4.connections.length === 0)
        pull.close()
        const last = await snapshot(first)
        return { wrong, stats, first, early, late, last }
      },
      argument,
    )
    expect(wrong).toBe(0)
    expect(stats.received).toMatchObject({ messages: MESSAGES })
    expect(stats.received).toEqual(stats.sent)
    expectNothingLeft(snapshots)
  })
})
