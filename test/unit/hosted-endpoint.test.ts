/** An endpoint on a thread: groups of connections for which one effort is chosen. */
import { expect, onTestFinished, test } from "vitest"
import { checkLz4Options } from "../../src/codec/options.js"
import type { HostedConnection } from "../../src/thread/hosted-connection.js"
import { HostedEndpoint } from "../../src/thread/hosted-endpoint.js"
import { Outbox } from "../../src/thread/outbox.js"
import type { EndpointSpec } from "../../src/thread/protocol.js"
import { message } from "../support/zmtp.js"

function endpoint() {
  const spec = {
    options: { settings: checkLz4Options({ level: "adaptive" }, -1) },
    tcp: { acceptFilters: [] },
    credit: 0,
    destination: undefined,
  } as unknown as EndpointSpec
  const one = new HostedEndpoint(1, spec, new Outbox(() => {}), new Map(), () => {})
  onTestFinished(() => one.close())
  /** The number of connections for which the effort was chosen. */
  const groups: number[] = []
  const connection = () => {
    const applyEffort = (group?: readonly unknown[]) => groups.push(group?.length ?? 1)
    const encoding = { applyEffort, encoded: () => {} }
    return { connection: { encoding } } as unknown as HostedConnection
  }
  const write = (...connections: HostedConnection[]) => {
    const write = { bytes: message(Buffer.alloc(1000)) }
    for (const to of connections) one.encode(write, to).release()
    return groups.at(-1)
  }
  return { connection, write }
}

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
