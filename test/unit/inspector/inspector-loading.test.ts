/** A capture as the inspector's worker reads it. */
import { expect, test } from "vitest"
import { conversation, framesOf, pcapFile, type Said } from "../../support/capture-files.js"
import { loadingOf } from "../../support/loading-states.js"
import { concat, SENTINELS } from "../../support/wire.js"
import { handshake, message } from "../../support/zmtp.js"

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text)
const long = "y".repeat(2000)

/** One side sends lz4+tcp, with a dictionary, and the other tcp. */
const said: Said = [
  ["client", handshake("PUSH")],
  ["server", handshake("PULL")],
  ["client", message(concat(SENTINELS.LZ4D, bytes("dictionary")))],
  ["client", message(concat(SENTINELS.plain, bytes(`x${long}`)))],
  ["server", message(bytes("bare"))],
]

/** Returns a capture to load, and the next of its states that satisfies a condition. */
function open() {
  const capture = pcapFile(framesOf(conversation(said))) as Uint8Array<ArrayBuffer>
  return loadingOf(new File([capture], "x.pcap"))
}

test("rows are saved when all are found, and dictionaries are no bodies", async () => {
  const { loading, until } = open()
  await expect(loading.save("json")).rejects.toThrow("nothing of the capture has been read")
  await loading.run()
  // The index has only the beginning of the long one.
  loading.filter("x or bare or kind=LZ4D")
  await expect(loading.save("bodies")).rejects.toThrow("The filter is still searching")
  await until(({ view }) => !view.filtering && view.rows === 3)
  expect(await (await loading.save("bodies")).text()).toBe(`x${long}bare`)
})

test("a filter follows one that is invalid, and one that changes nothing", async () => {
  const { loading, until } = open()
  await loading.run()
  loading.filter("size>")
  await until(({ view }) => view.mistake !== undefined)
  loading.sort(undefined)
  loading.filter("bare kind=none")
  const { view } = await until(({ view }) => !view.filtering && view.rows === 1)
  expect(view.mistake).toBeUndefined()
})

test("a message is decoded as its sender speaks", async () => {
  const { loading, until } = open()
  await loading.run()
  loading.filter("bare kind=none")
  const { view } = await until(({ view }) => !view.filtering && view.rows === 1)
  const { parts } = await loading.details(view.number, 0)
  expect(parts).toMatchObject([{ kind: "none", plainBytes: 4, error: undefined }])
})

test("a capture that is closed is not searched any more", async () => {
  const { loading, until } = open()
  await loading.run()
  await until(({ phase }) => phase === "done")
  loading.filter(long)
  let reports = 0
  void until(() => ++reports < 0)
  const before = reports
  loading.close()
  const other = open()
  await other.loading.run()
  other.loading.filter(long)
  await other.until(({ view }) => !view.filtering && view.rows === 1)
  expect(reports).toBe(before)
})
