/** The packets of several files, merged by time. */
import { expect, test } from "vitest"

import { createRandom } from "../../../bench/random.mjs"
import type { Packet } from "../../../src/capture/packets/file-format.js"
import { MergedPackets } from "../../../src/capture/packets/merged-packets.js"

test("many files are merged by time, each in its own order, and packets without a time stay behind theirs", () => {
  const random = createRandom("merged packets")
  const files = Array.from({ length: 300 }, (_, file) => {
    let time = BigInt(random.below(1000))
    return Array.from({ length: random.below(40) }, (_, i) => {
      time += BigInt(random.below(3) * random.below(100))
      const known = i === 0 || random.below(5) > 0
      return { file, i, time, packet: packetOf(known ? time : undefined) }
    }).map((one, i, all) => {
      // It follows the one before it.
      if (one.packet.time === undefined) one.time = all[i - 1]!.time
      return one
    })
  })
  const places = new Map(files.flat().map((one) => [one.packet.offset, one]))
  const order: ReturnType<typeof places.get>[] = []
  const merged = new MergedPackets(files.length, ({ offset }) => order.push(places.get(offset)))
  const next = files.map(() => 0)
  for (let file = merged.wanted; file !== undefined; file = merged.wanted) {
    const packets = files[file]!.slice(next[file], next[file]! + 1 + random.below(5))
    next[file]! += packets.length
    for (const { packet } of packets) merged.add(file, packet)
    if (packets.length === 0) merged.end(file)
    merged.passOn()
  }
  expect(order).toHaveLength(files.flat().length)
  const seen = files.map(() => 0)
  for (const [at, one] of order.entries()) {
    expect(one!.time).toBeGreaterThanOrEqual(order[at - 1]?.time ?? 0n)
    expect(one!.i).toBe(seen[one!.file]!++)
  }
})

let offset = 0
const packetOf = (time: bigint | undefined): Packet => ({
  linkType: 1,
  time,
  bytes: new Uint8Array(1),
  length: 1,
  offset: offset++,
})
