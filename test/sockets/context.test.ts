/** Contexts of zeromq.js: several of them, and options that sockets inherit. */
import { describe, expect, test } from "vitest"
import { Context, Pair, Pull, Push } from "zeromq-lz4"

import { anyPort, use } from "../support/sockets.js"
import { lz4, transports } from "../support/transports.js"

describe.each(transports)("over $name", (transport) => {
  test("sockets of several contexts talk to each other", async () => {
    const contexts = [new Context(), new Context({ ioThreads: 2 }), undefined]
    for (const ours of contexts)
      for (const theirs of contexts) {
        const [pull, push] = [
          use(new Pull(ours ? { context: ours } : {})),
          use(new Push(theirs ? { context: theirs } : {})),
        ]
        await pull.bind(anyPort(transport))
        push.connect(pull.lastEndpoint as string)
        await push.send("text")
        expect(String(await pull.receive())).toBe("text")
      }
  })

  test("endpoints do not count against maxSockets", async () => {
    const context = new Context({ maxSockets: 2 })
    const [pull, push] = [use(new Pull({ context })), use(new Push({ context }))]
    for (let i = 0; i < 5; i++) {
      await pull.bind(anyPort(transport))
      push.connect(pull.lastEndpoint as string)
    }
    expect(() => new Pull({ context })).toThrow(expect.objectContaining({ code: "EMFILE" }))
    await push.send("text")
    expect(String(await pull.receive())).toBe("text")
  })

  test("sockets inherit ipv6 from their context", async () => {
    const context = new Context({ ipv6: true })
    const [a, b] = [use(new Pair({ context })), use(new Pair({ context }))]
    await a.bind(`${transport.scheme}[::1]:*`)
    b.connect(a.lastEndpoint as string)
    await b.send("text")
    expect(String(await a.receive())).toBe("text")
  })
})

test("inproc:// and lz4+tcp:// of one context are separate", async () => {
  const context = new Context()
  const [pull, push, other] = [
    use(new Pull({ context })),
    use(new Push({ context })),
    use(new Push()),
  ]
  await pull.bind("inproc://name")
  await pull.bind(anyPort(lz4))
  push.connect("inproc://name")
  other.connect(pull.lastEndpoint as string)
  await push.send("inproc")
  await other.send("lz4+tcp")
  const received = [await pull.receive(), await pull.receive()]
  expect(received.map(String).sort()).toEqual(["inproc", "lz4+tcp"])
})
