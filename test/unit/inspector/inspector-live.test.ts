/** A recording in progress as the inspector's worker follows it. */
import { afterEach, expect, test, vi } from "vitest"
import { follow } from "../../../src/inspector/follow.js"
import { GrowingFile } from "../../../src/inspector/growing-file.js"
import { Loading } from "../../../src/inspector/loading.js"
import { conversation, framesOf, pcapFile, type Said } from "../../support/capture-files.js"
import { curveConversation } from "../../support/curve-conversation.js"
import { loadingOf } from "../../support/loading-states.js"
import { handshake, message } from "../../support/zmtp.js"

afterEach(() => {
  vi.unstubAllGlobals()
  vi.useRealTimers()
})

const bytesOf = async (file: GrowingFile, from = 0, to = file.size) =>
  Buffer.from(await file.read([[from, to]]))

test("a file that grows has all its bytes, wherever a piece begins and ends", async () => {
  const file = new GrowingFile("x")
  const MIB = 1 << 20
  const all = Buffer.alloc(4 * MIB)
  for (let i = 0; i < all.length; i += 4) all.writeUInt32LE(i, i)
  const places = [0, 1, 1000, MIB - 1, MIB, MIB + 5, 3 * MIB + 7, 3 * MIB + 8]
  for (const [i, to] of places.entries()) {
    file.append(all.subarray(places[i - 1] ?? 0, to))
    expect(file.size).toBe(to)
    for (const from of places.slice(0, i + 1))
      expect(
        Buffer.compare(await bytesOf(file, from, to), all.subarray(from, to)),
        `${from} to ${to}`,
      ).toBe(0)
  }
  expect(await bytesOf(file, file.size, file.size + 10)).toHaveLength(0)
  const before = await bytesOf(file, 3 * MIB)
  file.append(all.subarray(0, MIB))
  expect(before).toHaveLength(8)
})

const text = (words: string): Uint8Array => new TextEncoder().encode(words)
const long = "y".repeat(2000)

/** Returns a recording of messages, to be appended in pieces, and the places between which these are. */
function recording(messages: readonly string[]): { whole: Uint8Array; places: number[] } {
  const said: [from: "client" | "server", bytes: Uint8Array][] = [
    ["client", handshake("PUSH")],
    ["server", handshake("PULL")],
  ]
  const capture = (): Uint8Array => pcapFile(framesOf(conversation(said as Said)))
  const places = [capture().length]
  for (const words of messages) {
    said.push(["client", message(text(`\0\0\0\0${words}`))])
    places.push(capture().length)
  }
  return { whole: capture(), places }
}

function opened() {
  const file = new GrowingFile("live.pcap")
  return { file, ...loadingOf(file) }
}

/** Rows before the first message. */
const FIRST = 5

test("rows come as the file grows, in pieces of any size, and are searched and saved like others", async () => {
  const messages = Array.from({ length: 30 }, (_, i) => `${i} ${i % 3 ? "a" : `b${long}z`}`)
  const { whole, places } = recording(messages)
  const { file, loading, until } = opened()
  const ran = loading.run()
  let at = 0
  for (const [i, place] of places.entries()) {
    // Packets are cut anywhere.
    const middle = at + Math.floor((place - at) / 2)
    file.append(whole.subarray(at, middle))
    await until(({ bytesRead }) => bytesRead === middle)
    file.append(whole.subarray(middle, place))
    const { phase } = await until(({ rows }) => rows === FIRST + i)
    expect(phase).toBe("live")
    at = place
  }
  loading.filter("text~z$")
  await until(({ view }) => !view.filtering && view.rows === 10)
  expect(await (await loading.save("bodies")).text()).toBe(
    messages.filter((words) => words.endsWith("z")).join(""),
  )
  const more = recording([...messages, "31 z", "32"])
  file.append(more.whole.subarray(at))
  await until(({ view }) => !view.filtering && view.rows === 11)
  file.end()
  await ran
  const { phase, rows, ending, followed } = await until(({ phase }) => phase === "done")
  // The last row says that the recording ends.
  expect({ phase, rows, ending, followed }).toEqual({
    phase: "done",
    rows: FIRST + 33,
    ending: undefined,
    followed: true,
  })
})

test("rows are sorted again as others come, and a row is found where it is", async () => {
  const { whole, places } = recording(["d", "b", "c", "a", "e"])
  const { file, loading, until } = opened()
  void loading.run()
  file.append(whole.subarray(0, places[2]))
  await until(({ rows }) => rows === FIRST + 2)
  loading.filter("kind=message")
  const { view: unsorted } = await until(({ view }) => view.rows === 2)
  loading.sort({ column: "content", descending: false })
  const contents = (view: number) =>
    loading.shown.rows(view, 0, 10).map(({ preview }) => preview.join())
  const { view } = await until(({ view }) => view.number > unsorted.number + 1)
  expect(contents(view.number)).toEqual(["b", "d"])
  expect(loading.shown.place(view.number, FIRST + 1)).toBe(1)
  file.append(whole.subarray(places[2]))
  // Those that have come follow until they are sorted.
  await until(({ view }) => view.rows === 5)
  const { view: again } = await until(({ view: { order } }) => order > view.order)
  expect(again.number).toBe(view.number)
  expect(contents(view.number)).toEqual(["a", "b", "c", "d", "e"])
  expect(loading.shown.place(view.number, FIRST + 1)).toBe(3)
  expect(loading.shown.place(view.number, 1)).toBeUndefined()
  loading.close()
})

test("a recording that is closed is left, and can be opened again", async () => {
  const { whole } = recording(["one"])
  const { file, loading, until } = opened()
  const ran = loading.run()
  file.append(whole)
  await until(({ rows }) => rows === FIRST + 1)
  loading.close()
  await ran
  const again = new Loading(2, [file], { dictionary: undefined, keys: undefined }, () => {})
  file.end()
  await again.run()
  expect(file.ended).toBe(true)
})

test("a recording is asked for until it has ended", async () => {
  const asked: string[] = []
  const answers: [bytes: string, state: string, status: number][] = [
    ["one", "live", 200],
    ["", "live", 200],
    [" two", "ended", 200],
  ]
  vi.stubGlobal("fetch", async (url: string) => {
    asked.push(url)
    const [bytes, state, status] = answers.shift()!
    return new Response(bytes, { status, headers: { "x-recording": state } })
  })
  const file = follow({ id: 1, name: "x", url: "http://127.0.0.1/recording" })
  while (!file.ended) await file.change()
  expect(String(await bytesOf(file))).toBe("one two")
  expect(file.ending).toBeUndefined()
  expect(asked.map((url) => url.split("?")[1])).toEqual(["from=0", "from=3", "from=3"])
})

test("a recording ends when it was overwritten, or nobody answers any more", async () => {
  vi.stubGlobal("fetch", async () => new Response("", { status: 416 }))
  const cut = follow({ id: 1, name: "x", url: "http://127.0.0.1/recording" })
  while (!cut.ended) await cut.change()
  expect(cut.ending).toBe("the file was overwritten")

  // Nobody answers for longer than idle connections are kept; once this has an answer, it begins anew.
  vi.useFakeTimers()
  const askedMs: number[] = []
  const startMs = Date.now()
  vi.stubGlobal("fetch", async () => {
    askedMs.push(Date.now() - startMs)
    if (askedMs.length === 3) return new Response("x", { headers: { "x-recording": "live" } })
    throw new TypeError("Failed to fetch")
  })
  const gone = follow({ id: 2, name: "x", url: "http://127.0.0.1/recording" })
  await vi.advanceTimersByTimeAsync(6_699)
  expect(gone.ended).toBe(false)
  await vi.advanceTimersByTimeAsync(1)
  expect(gone.ending).toBe(
    "zeromq-lz4 live does not answer: it has been stopped, or others hold all of its connections",
  )
  expect(gone.size).toBe(1)
  expect(askedMs).toEqual([0, 100, 300, 400, 500, 700, 1100, 1900, 3500, 6700])
})

test("a chosen file is read again as long as it grows", async () => {
  const versions = ["one", "one", "one two", "one two three"]
  const handle = {
    getFile: async () => {
      const content = versions.length > 1 ? versions.shift()! : versions[0]!
      const file = new File([content], "x")
      if (content !== "one two") return file
      // It is written to between these two calls.
      const slice = () => ({
        arrayBuffer: async () => {
          throw new DOMException("changed", "NotReadableError")
        },
      })
      return Object.defineProperty(file, "slice", { value: slice })
    },
  } as unknown as FileSystemFileHandle
  const file = follow({ id: 1, name: "x", handle })
  while (file.size < 13) await file.change()
  expect(String(await bytesOf(file))).toBe("one two three")
  versions.push("one")
  while (!file.ended) await file.change()
  expect(file.ending).toBe("the file was overwritten")
})

test("a key log that is served is asked for again, and not needed after the end", async () => {
  const { said, log, seal } = curveConversation()
  const sealed = (words: string): Said[number] => [
    "client",
    seal.client(message(text(`\0\0\0\0${words}`))),
  ]
  const first = sealed("first")
  const before = pcapFile(framesOf(conversation([...said, first])))
  const whole = pcapFile(framesOf(conversation([...said, first, sealed("last")])))
  const answers = [new Error("none"), new Error("none"), new Response(log), new Error("stopped")]
  vi.stubGlobal("fetch", async () => {
    const answer = answers.length > 1 ? answers.shift() : answers[0]
    if (answer instanceof Error) throw answer
    return answer
  })
  const file = new GrowingFile("live.pcap")
  const { loading, until } = loadingOf(file, { name: "keys.log", url: "http://localhost/keys" })
  file.append(before)
  void loading.run()
  await until(({ messages }) => messages === 1)
  file.append(whole.subarray(before.length))
  file.end("zeromq-lz4 live does not answer")
  const { phase, failure, messages } = await until(({ phase }) => phase !== "live")
  expect({ phase, failure, messages }).toEqual({ phase: "done", failure: undefined, messages: 2 })
  await loading.close()
})
