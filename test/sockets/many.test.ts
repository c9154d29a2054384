/** Many connections of one socket at once. */
import { once } from "node:events"
import { connect } from "node:net"
import { constants } from "node:os"
import { setTimeout as sleep } from "node:timers/promises"
import { describe, expect, test } from "vitest"
import { Dealer, Pull, Push, Router } from "zeromq-lz4"

import { Script } from "../support/running-script.js"
import { anyPort, use } from "../support/sockets.js"
import { lz4, transports } from "../support/transports.js"

const PEERS = 1000

describe.each(transports)("over $name", (transport) => {
  test("a thousand peers connect to one socket at once, and each is heard and answered", async () => {
    const router = use(new Router())
    await router.bind(anyPort(transport))
    const endpoint = router.lastEndpoint as string
    const dealers = Array.from({ length: PEERS }, () => use(new Dealer({ reconnectInterval: -1 })))
    for (const [i, dealer] of dealers.entries()) {
      dealer.connect(endpoint)
      await dealer.send(String(i))
    }
    const heard = new Set<string>()
    for (let i = 0; i < PEERS; i++) {
      const [id, text] = (await router.receive()) as [Buffer, Buffer]
      heard.add(String(text))
      await router.send([id, text])
    }
    expect(heard.size).toBe(PEERS)
    for (const [i, dealer] of dealers.entries())
      expect(String((await dealer.receive())[0])).toBe(String(i))
  })

  test.each(["worker", "same"] as const)(
    "a process that runs out of descriptors lives on (links on the %s thread)",
    async (thread) => {
      const script = new Script(
        `const router = new zmq.Router(); await router.bind(argument); console.log(router.lastEndpoint);
      for await (const [id, text] of router) { await router.send([id, text]); if (String(text) === "end") break }`,
        anyPort(transport),
        thread,
        128,
      )
      const endpoint = await script.line()
      const port = Number(endpoint.split(":").at(-1))
      const flood = Array.from({ length: 200 }, () => connect(port, "127.0.0.1").resume())
      for (const socket of flood) socket.on("error", () => {})
      await Promise.all(flood.map((socket) => once(socket, "connect")))
      await sleep(500) // time to run out
      expect(script.running, script.errors).toBe(true)
      for (const socket of flood) socket.destroy()
      // It may be refused until the descriptors are free again.
      const dealer = use(new Dealer({ reconnectInterval: 20 }))
      dealer.connect(endpoint)
      await dealer.send("end")
      expect(String((await dealer.receive())[0])).toBe("end")
      expect(await script.ended(), script.errors).toEqual({ code: 0, signal: null })
    },
  )

  test("one socket connects a thousand times at once", async () => {
    const pull = use(new Pull())
    await pull.bind(anyPort(transport))
    const push = use(new Push({ reconnectInterval: -1, sendHighWaterMark: 1 }))
    for (let i = 0; i < PEERS; i++) push.connect(pull.lastEndpoint as string)
    // It sends by turns over all its connections.
    for (let i = 0; i < PEERS; i++) {
      await push.send(String(i))
    }
    const heard = new Set<string>()
    for (let i = 0; i < PEERS; i++) heard.add(String((await pull.receive())[0]))
    expect(heard.size).toBe(PEERS)
  })
})

test.each(["worker", "same"] as const)(
  "connect() says that no descriptors are left, and works when there are (links on the %s thread)",
  async (thread) => {
    const pull = use(new Pull())
    await pull.bind(anyPort(lz4))
    const endpoint = pull.lastEndpoint as string
    let connects = 0
    pull.lz4.on("connect", () => connects++)
    const script = new Script(
      `const { closeSync, openSync } = process.getBuiltinModule("node:fs")
      const push = new zmq.Push()
      push.connect(argument)
      await push.send("text")
      const files = []
      try { for (;;) files.push(openSync("/dev/null", "r")) } catch {}
      let error
      try { push.connect(argument) } catch (thrown) { error = thrown }
      for (const file of files) closeSync(file)
      push.connect(argument)
      for (let i = 0; i < 2; i++) await push.send("text") // by turns
      const { code, errno, address } = error
      console.log(JSON.stringify({ code, errno, address }))`,
      endpoint,
      thread,
      128,
    )
    const { EMFILE: errno } = constants.errno
    expect(JSON.parse(await script.line())).toEqual({ code: "EMFILE", errno, address: endpoint })
    for (let i = 0; i < 3; i++) expect(String(await pull.receive())).toBe("text")
    expect(connects).toBe(2)
    expect(await script.ended(), script.errors).toEqual({ code: 0, signal: null })
  },
)
