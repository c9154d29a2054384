/** Many messages over one connection. */
import { describe, expect, test } from "vitest"

import { payload } from "../../bench/payloads.mjs"
import { dictionary } from "../support/transports.js"
import { expectNothingLeft, inTidyChild } from "./leftovers.js"

/** In the gate half of them: a reference that is kept for each takes more than what may be left. */
const MESSAGES = process.env.SOAK_ALL ? 1_000_000 : 500_000

/** Their number is coprime to all other counts, so that none can be mistaken for another. */
const payloads = Array.from({ length: 997 }, (_, i) =>
  payload(i % 10 ? "json" : "random", (i * i) % 1500, i),
)

describe("over one connection", () => {
  test(`${MESSAGES} messages arrive unchanged, and leave nothing behind`, async () => {
    const argument = { dictionary, payloads, messages: MESSAGES }
    const { wrong, stats, ...snapshots } = await inTidyChild(
      async ({ sockets, snapshot, until, fillWasmMemory }, { dictionary, payloads, messages }) => {
        const { Pull, Push } = await sockets()
        new Pull().close() // libzmq's own threads remain
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

/** Number of messages after which the connection is cut. */
const CUT_EVERY = 20_000
/** Messages that may be in transit when it is cut. */
const UNDER_WAY_MAX = 20_000

test(`${MESSAGES} messages arrive over a connection that is cut repeatedly, none twice, and leave nothing behind`, async () => {
  const argument = { payloads, messages: MESSAGES, cutEvery: CUT_EVERY }
  const { wrong, twice, lost, cuts, ...snapshots } = await inTidyChild(
    async ({ sockets, snapshot, until, fillWasmMemory }, { payloads, messages, cutEvery }) => {
      const net = process.getBuiltinModule("node:net")
      const { Pull, Push } = await sockets()
      new Pull().close() // libzmq's own threads remain
      fillWasmMemory()
      const first = await snapshot()

      const pull = new Pull()
      await pull.bind("lz4+tcp://127.0.0.1:*")
      const target = Number((pull.lastEndpoint as string).split(":").at(-1))
      const open = new Set<import("node:net").Socket>()
      const relay = net.createServer((client) => {
        const server = net.connect(target, "127.0.0.1")
        for (const [from, to] of [
          [client, server],
          [server, client],
        ] as const) {
          open.add(from)
          from.on("error", () => {}) // "close" follows
          from.on("close", () => {
            open.delete(from)
            to.destroy()
          })
          from.pipe(to)
        }
      })
      await new Promise<void>((resolve) => relay.listen(0, "127.0.0.1", resolve))
      const { port } = relay.address() as { port: number }
      let cuts = 0
      const cut = () => {
        cuts++
        for (const socket of open) socket.destroy()
      }
      const push = new Push({ reconnectInterval: 10 })
      push.connect(`lz4+tcp://127.0.0.1:${port}`, { autoDictionary: true })

      const seen = new Uint8Array(2 * messages)
      let [sent, received, wrong, twice] = [0, 0, 0, 0]
      const exchange = async (total: number) => {
        const goal = received + total
        let over = false
        const sending = (async () => {
          while (!over) {
            await push.send([String(sent), payloads[sent % payloads.length] as Uint8Array])
            sent++
          }
        })()
        /** Receives a message, and returns its number. */
        const take = async (): Promise<number> => {
          const [number, body] = (await pull.receive()) as [Buffer, Buffer]
          const i = Number(number)
          if (i < 0) return i
          if (seen[i]++) twice++
          if (!body.equals(payloads[i % payloads.length] as Uint8Array)) wrong++
          received++
          return i
        }
        while (received < goal) {
          await take()
          if (received % cutEvery === 0) cut()
        }
        // One that was sent after the last cut shows that there is a connection again.
        const later = sent
        while ((await take()) <= later);
        over = true
        // The sender may be waiting for room.
        const ended = sending.then(() => push.send(["-1", ""]))
        while ((await take()) >= 0);
        await ended
        // What is left of earlier connections has arrived.
        pull.receiveTimeout = 0
        try {
          for (;;) await take()
        } catch (error) {
          if ((error as { code?: string }).code !== "EAGAIN") throw error
        }
        pull.receiveTimeout = -1
      }
      await exchange(messages / 5)
      const early = await snapshot()
      await exchange((messages * 4) / 5)
      const late = await snapshot(early)
      push.close()
      await until(() => pull.lz4.connections.length === 0)
      pull.close()
      relay.close()
      for (const socket of open) socket.destroy()
      const last = await snapshot(first)
      return { wrong, twice, lost: sent - received, cuts, first, early, late, last }
    },
    argument,
  )
  expect({ wrong, twice }).toEqual({ wrong: 0, twice: 0 })
  expect(cuts).toBeGreaterThanOrEqual(MESSAGES / CUT_EVERY)
  expect(lost).toBeLessThan(cuts * UNDER_WAY_MAX)
  expectNothingLeft(snapshots)
})
