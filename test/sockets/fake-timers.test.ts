/** Fake timers of a test stop its own timers and not its sockets, as with zeromq.js, whose clock is native. */
import { createRequire } from "node:module"
import { dirname } from "node:path"
import { mock } from "node:test"
import { afterEach, describe, test, vi } from "vitest"
import type * as zmq from "zeromq"
import * as lz4Package from "zeromq-lz4"
import { ownScenarios, scenarios } from "../package/loaders/under-fake-timers.cjs"
import { type AnySocket, anyPort, freePort, use } from "../support/sockets.js"
import { lz4, type Transport, transports } from "../support/transports.js"

const require = createRequire(import.meta.url)

afterEach(() => {
  vi.useRealTimers()
  Reflect.deleteProperty(performance, "now")
  mock.timers.reset()
})

/** What is replaced: all but nextTick(), which vitest cannot replace in child processes. */
const toFake = [
  ...(["setTimeout", "clearTimeout", "setInterval", "clearInterval"] as const),
  ...(["setImmediate", "clearImmediate", "queueMicrotask", "hrtime"] as const),
  ...(["Date", "performance"] as const),
]
const ofVitest = () => void vi.useFakeTimers({ toFake })
const ofNode = () => mock.timers.enable()
const clockOnly = () => void Object.assign(performance, { now: () => 0 })

async function surroundings({ scheme, options }: Transport, fake: () => void) {
  const given = scheme === lz4.scheme ? [options] : []
  return {
    any: anyPort({ scheme } as Transport),
    free: `${scheme}127.0.0.1:${await freePort()}`,
    bind: (socket: zmq.Socket, endpoint: string) => (socket as AnySocket).bind(endpoint, ...given),
    connect: (socket: zmq.Socket, endpoint: string) =>
      (socket as AnySocket).connect(endpoint, ...given),
    use,
    fake,
  }
}

const all = Object.entries({ ...scenarios, ...ownScenarios })

describe.each(transports)("over $name, fake timers do not stop", (transport) => {
  const names = transport === lz4 ? all : Object.entries(scenarios)
  test.each(names)("%s, with vitest", async (_, scenario) => {
    await scenario(lz4Package as never, await surroundings(transport, ofVitest))
  })
  test.each(names)("%s, with node:test", async (_, scenario) => {
    await scenario(lz4Package as never, await surroundings(transport, ofNode))
  })
})

describe.each([
  { what: "fake timers", fake: ofVitest },
  { what: "a clock that stands still", fake: clockOnly },
])("$what from before the package was loaded do not stop", ({ fake }) => {
  test.each(all)("%s", async (_, scenario) => {
    const at = await surroundings(lz4, fake)
    fake()
    const path = require.resolve("../../dist/index.cjs")
    const kept = { ...require.cache }
    for (const file of Object.keys(kept))
      if (file.startsWith(dirname(path))) delete require.cache[file]
    try {
      await scenario(require(path), at)
    } finally {
      Object.assign(require.cache, kept)
    }
  })
})
