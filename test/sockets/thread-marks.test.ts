/** Small high-water marks and several peers of a socket with a thread. */
import { setImmediate as turn } from "node:timers/promises"
import { expect, test } from "vitest"
import { Pull, Push } from "zeromq-lz4"

import { use } from "../support/sockets.js"
import { ANY, threaded } from "../support/threads.js"
import { times } from "../support/transports.js"

const PEERS = 4

test.each([
  { mark: 1, bytes: 100, count: times(3000, 1000) },
  { mark: 1, bytes: 30_000, count: times(300, 150) },
  { mark: 2, bytes: 5000, count: times(1500, 500) },
  { mark: 10, bytes: 100, count: times(5000, 2000) },
  { mark: 10, bytes: 30_000, count: times(500, 250) },
])(
  "with a mark of $mark, all messages of $count parts of $bytes bytes of each peer arrive once, complete and in order",
  async ({ mark, bytes, count }) => {
    const pull = use(new Pull({ receiveHighWaterMark: mark }))
    await pull.bind(ANY, threaded)
    const lost: unknown[] = []
    pull.lz4.on("disconnect", (event) => lost.push(event))
    const pushes = Array.from({ length: PEERS }, () => use(new Push({ sendHighWaterMark: mark })))
    for (const push of pushes) push.connect(pull.lastEndpoint as string, threaded)
    const partOf = (peer: number, number: number) => Buffer.alloc(bytes, `${peer}-${number}-`)
    const sending = pushes.map(async (push, peer) => {
      for (let i = 0; i < count; i++) await push.send(partOf(peer, i))
    })
    const next = Array.from({ length: PEERS }, () => 0)
    for (let received = 0; received < PEERS * count; received++) {
      const [part] = await pull.receive()
      const peer = Number(part?.toString("latin1", 0, part.indexOf("-")))
      const number = next[peer] as number
      next[peer] = number + 1
      if (!part?.equals(partOf(peer, number)))
        expect.fail(`${part?.toString("latin1", 0, 20)} is not ${number} of ${peer}`)
      if (received % 7 === 0) await turn()
    }
    await Promise.all(sending)
    expect(next).toEqual(Array.from({ length: PEERS }, () => count))
    expect(lost).toEqual([])
  },
)
