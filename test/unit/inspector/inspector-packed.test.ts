/** Messages of more parts than bytes, in the worker of the inspector. */
import { expect, test } from "vitest"
import { decodeText } from "../../../src/inspector/decode-text.js"
import { captured } from "../../support/captures.js"
import { loadingOf } from "../../support/loading-states.js"
import { NOISE, PACKED_PARTS, packedArena, packedPair } from "../../support/packed-arenas.js"
import { concat } from "../../support/wire.js"
import { handshake, message } from "../../support/zmtp.js"

const x = Uint8Array.of(120)

test("have rows, details of some parts, and content that is searched and saved", async () => {
  const frames = concat(message(packedArena()), message(packedPair(x)))
  const file = captured([
    ["client", concat(handshake("PUSH"), frames)],
    ["server", handshake("PULL")],
  ]) as Uint8Array<ArrayBuffer>
  const { loading, until } = loadingOf(new File([file], "x.pcap"))
  await loading.run()
  loading.filter("parts>100")
  const { view } = await until(({ view }) => !view.filtering && view.rows === 3)
  const rows = loading.shown.rows(view.number, 0, 3)
  expect(rows.map(({ parts }) => parts)).toEqual([PACKED_PARTS, PACKED_PARTS / 2, PACKED_PARTS / 2])
  expect(rows[0]).toMatchObject({ forms: ["LZ4A"], plainBytes: NOISE.length, cut: true })
  const details = await loading.details(view.number, 2)
  expect(details.parts).toHaveLength(200)
  // Its share is that of the message, which the row says; what can be saved is the arena.
  const [first] = details.parts
  expect(first?.wireBytes).toBeLessThan(details.row.wireBytes)
  expect(first?.arenaBytes).toBe(packedPair(x).length)
  expect(loading.opened.bytes(0, "wire", 0, 1e6)).toEqual(packedPair(x))
  expect(loading.opened.bytes(199, "plain", 0, 10)).toEqual(x)
  // More than the index has of it.
  loading.filter("parts>100 text~(x\\s){60}")
  await until(({ view }) => !view.filtering && view.rows === 2)
  expect((await loading.save("bodies")).size).toBe(2 * (NOISE.length + PACKED_PARTS / 2 - 1))
})

test("that are pasted: how many parts are not shown", () => {
  const hex = Buffer.from(message(packedArena())).toString("hex")
  const { pieces } = decodeText(hex, undefined)
  expect(pieces).toHaveLength(1)
  expect(pieces[0]?.parts).toHaveLength(100)
  expect(pieces[0]?.more).toBe(PACKED_PARTS - 100)
})
