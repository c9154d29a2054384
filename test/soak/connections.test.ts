/** Many connections, one after the other and at once. */
import { describe, expect, test } from "vitest"

import { handshake } from "../support/zmtp.js"
import { expectNothingLeft, inTidyChild } from "./leftovers.js"

/**
 * Connections of raw peers, and of our own sockets: 100,000 in total; in the gate a quarter of them, of which
 * 110 bytes each take more than what may be left.
 */
const SHARE = process.env.SOAK_ALL ? 1 : 0.25
const VISITS = SHARE * 84_000
const CONNECTS = SHARE * 16_000
const AT_ONCE = 1000
const MESSAGES = 20_000
/** 10,000 in total. */
const STORM = 1000
const STORMS = 10

describe("connections", () => {
  test(`leave nothing behind, ${VISITS + CONNECTS} of them`, async () => {
    const argument = { visits: VISITS, connects: CONNECTS, hello: handshake("PUSH") }
    const { connections, ...snapshots } = await inTidyChild(
      async ({ sockets, snapshot, until, fillWasmMemory }, { visits, connects, hello }) => {
        const net = process.getBuiltinModule("node:net")
        const { Pull, Push } = await sockets()
        new Pull().close() // libzmq's own threads remain
        fillWasmMemory()
        const first = await snapshot()

        const pull = new Pull()
        await pull.bind("lz4+tcp://127.0.0.1:*")
        const endpoint = pull.lastEndpoint as string
        const port = Number(endpoint.split(":").at(-1))
        const push = new Push()
        let connections = 0
        pull.lz4.on("connect", () => connections++)

        const inBatches = async (total: number, size: number, batch: () => Promise<unknown>) => {
          for (let done = 0; done < total; done += size) await batch()
        }
        /** Connects a peer that disconnects during the greeting, or after the handshake. */
        const visit = (way: number) =>
          new Promise<unknown>((resolve) => {
            const peer = net.connect(port, "127.0.0.1")
            let received = 0
            peer.on("error", () => {}) // the other side was faster
            peer.on("close", resolve)
            peer.write(way === 0 ? hello.subarray(0, 20) : hello)
            peer.on("data", ({ length }) => {
              received += length
              if (way > 0 && received <= 64) return
              if (way === 1) peer.end()
              else peer.destroy()
            })
          })
        const visitAll = async () => {
          await Promise.all(Array.from({ length: 100 }, (_, i) => visit(i % 3)))
        }
        const connectAll = async () => {
          const expected = connections + 50
          for (let i = 0; i < 50; i++) push.connect(endpoint)
          await until(() => connections === expected)
          push.disconnect(endpoint)
          await until(() => pull.lz4.connections.length === 0)
        }
        const work = async (share: number) => {
          await inBatches(visits * share, 100, visitAll)
          await inBatches(connects * share, 50, connectAll)
          await until(() => pull.lz4.connections.length === 0)
          await until(() => push.lz4.connections.length === 0)
        }

        const bound = await snapshot()
        await work(0.2)
        const early = await snapshot(bound)
        await work(0.8)
        const late = await snapshot(early)
        pull.close()
        push.close()
        const last = await snapshot(first)
        return { connections, first, early, late, last }
      },
      argument,
    )
    expect(connections).toBe(VISITS + CONNECTS)
    expectNothingLeft(snapshots)
  })

  test(`work for ${AT_ONCE} connections of one socket at once`, async () => {
    const argument = { atOnce: AT_ONCE, messages: MESSAGES }
    const { received, sum, ...snapshots } = await inTidyChild(
      async ({ sockets, snapshot, until, fillWasmMemory }, { atOnce, messages }) => {
        const { Pull, Push } = await sockets()
        new Pull().close() // libzmq's own threads remain
        fillWasmMemory()
        const first = await snapshot()

        const pull = new Pull({ backlog: atOnce })
        await pull.bind("lz4+tcp://127.0.0.1:*")
        const endpoint = pull.lastEndpoint as string
        let received: number[] = []
        let sum = 0
        const fill = async () => {
          const push = new Push()
          for (let i = 0; i < atOnce; i++) push.connect(endpoint)
          await until(() => pull.lz4.connections.length === atOnce)
          const sending = (async () => {
            for (let i = 0; i < messages; i++) await push.send(String(i))
          })()
          for (let i = 0; i < messages; i++) sum += Number(await pull.receive())
          await sending
          received = pull.lz4.connections.map(({ received }) => received.messages)
          push.close()
          await until(() => pull.lz4.connections.length === 0)
        }
        const bound = await snapshot()
        await fill()
        await fill()
        const early = await snapshot(bound)
        await fill()
        await fill()
        const late = await snapshot(early)
        pull.close()
        const last = await snapshot(first)
        return { received, sum, first, early, late, last }
      },
      argument,
    )
    expect(received.length).toBe(AT_ONCE)
    expect(Math.min(...received)).toBeGreaterThan(0)
    expect(sum).toBe(2 * MESSAGES * (MESSAGES - 1)) // four times
    expectNothingLeft(snapshots)
  })

  test(`can be opened and closed in storms of ${STORM}, without leaks of descriptors or memory`, async () => {
    const argument = { storm: STORM, storms: STORMS, hello: handshake("PUSH") }
    const { connections, ...snapshots } = await inTidyChild(
      async ({ sockets, snapshot, until, fillWasmMemory }, { storm, storms, hello }) => {
        const net = process.getBuiltinModule("node:net")
        const { Pull } = await sockets()
        new Pull().close() // libzmq's own threads remain
        fillWasmMemory()
        const first = await snapshot()

        const pull = new Pull({ backlog: storm })
        await pull.bind("lz4+tcp://127.0.0.1:*")
        const port = Number((pull.lastEndpoint as string).split(":").at(-1))
        let connections = 0
        pull.lz4.on("connect", () => connections++)
        const blow = async () => {
          const goal = connections + storm
          const peers = Array.from({ length: storm }, () => {
            const peer = net.connect(port, "127.0.0.1").on("error", () => {})
            peer.write(hello)
            return peer.resume()
          })
          await until(() => connections === goal)
          // All at once, some of them still in their handshake.
          for (const [i, peer] of peers.entries())
            if (i % 2) peer.destroy()
            else peer.resetAndDestroy()
          await until(() => pull.lz4.connections.length === 0)
        }
        const bound = await snapshot()
        for (let i = 0; i < storms / 2; i++) await blow()
        const early = await snapshot(bound)
        for (let i = 0; i < storms / 2; i++) await blow()
        const late = await snapshot(early)
        pull.close()
        const last = await snapshot(first)
        return { connections, first, early, late, last }
      },
      argument,
    )
    expect(connections).toBe(STORM * STORMS)
    expectNothingLeft(snapshots)
  })
})
