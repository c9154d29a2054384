/** An endpoint on a thread: what connections that write the same share. */
import { expect, onTestFinished, test, vi } from "vitest"
import { checkLz4Options } from "../../../src/codec/options.js"
import type { HostedConnection } from "../../../src/thread/hosted-connection.js"
import { HostedEndpoint } from "../../../src/thread/hosted-endpoint.js"
import { type EndpointSpec, NOT_SHARED } from "../../../src/thread/protocol.js"
import { WorkerOutbox } from "../../../src/thread/worker-outbox.js"
import { message } from "../../support/zmtp.js"

const TEXT = Buffer.from("a message that compresses well, again and again. ".repeat(20))

function endpoint(options: object = { level: "adaptive" }) {
  const settings = checkLz4Options(options, -1)
  const spec = {
    options: { settings },
    tcp: { acceptFilters: [] },
    credit: 0,
    destination: undefined,
  } as unknown as EndpointSpec
  const one = new HostedEndpoint(1, spec, new WorkerOutbox(() => {}), new Map(), () => {})
  onTestFinished(() => one.close())
  /** The number of connections for which the effort was chosen. */
  const groups: number[] = []
  const connection = () => {
    const nextEffort = (group?: readonly unknown[]) => {
      groups.push(group?.length ?? 1)
      return settings.effort
    }
    const encoding = { nextEffort, encoded: () => {} }
    return { connection: { encoding, packing: "parts" } } as unknown as HostedConnection
  }
  /** Encodes a write for a connection, and returns its chunk. */
  const encode = (number: number, to: HostedConnection, body = TEXT) => {
    const chunk = one.encode({ bytes: message(body), number }, to)
    chunk.release()
    return chunk
  }
  let last = 0
  const write = (...connections: HostedConnection[]) => {
    last++
    for (const to of connections) encode(last, to)
    return groups.at(-1)
  }
  return { connection, encode, write, groups }
}

test("a write is encoded once, for late connections too", () => {
  const { connection, encode, groups } = endpoint()
  const [early, late] = [connection(), connection()]
  const chunks = [1, 2, 3].map((number) => encode(number, early))
  for (const [i, chunk] of chunks.entries()) expect(encode(i + 1, late)).toBe(chunk)
  expect(groups).toHaveLength(3)
})

test("a write that no other connection makes is not kept", () => {
  const { connection, encode } = endpoint()
  const only = connection()
  expect(encode(NOT_SHARED, only)).not.toBe(encode(NOT_SHARED, only))
})

test("at most 2 MiB of encoded writes are kept, and none without traffic", () => {
  vi.useFakeTimers()
  onTestFinished(() => void vi.useRealTimers())
  const { connection, encode } = endpoint({ level: "none" })
  const [early, late] = [connection(), connection()]
  const body = Buffer.alloc(900 * 1024)
  const [first, second, third] = [1, 2, 3].map((number) => encode(number, early, body))
  expect(encode(3, late, body) === third).toBe(true)
  expect(encode(2, late, body) === second).toBe(true)
  expect(encode(1, late, body) === first).toBe(false)
  const latest = encode(4, early, body)
  vi.advanceTimersByTime(1000)
  expect(encode(4, late, body) === latest).toBe(false)
})

test("of many small writes, the last 256 are kept", () => {
  const { connection, encode } = endpoint()
  const [early, late] = [connection(), connection()]
  const chunks = Array.from({ length: 257 }, (_, i) => encode(i + 1, early))
  expect(encode(2, late) === chunks[1]).toBe(true)
  expect(encode(1, late) === chunks[0]).toBe(false)
})

test("connections that write the same are a group, also while some catch up alone", () => {
  const { connection, write } = endpoint()
  const [a, b, c] = [connection(), connection(), connection()]
  write(a, b, c)
  expect(write(a, b, c)).toBe(3)
  for (let i = 0; i < 20; i++) expect(write(c)).toBe(3)
  expect(write(a, b, c)).toBe(3)
})

test("a single remaining connection is no longer a group", () => {
  const { connection, write } = endpoint()
  const [a, b, c] = [connection(), connection(), connection()]
  write(a, b, c)
  expect(write(a, b, c)).toBe(3)
  for (let i = 0; i < 200; i++) write(a)
  expect(write(a)).toBe(1)
  write(a, b)
  expect(write(a, b)).toBe(2)
})
