/** Processes that run out of file descriptors. */
import { connect } from "node:net"
import { describe, expect, test } from "vitest"
import { Dealer, Pull } from "zeromq-lz4"

import { portOf } from "../support/raw-peer.js"
import { Script } from "../support/running-script.js"
import { anyPort, eventually, use } from "../support/sockets.js"
import { lz4 } from "../support/transports.js"
import { Honest, Victim } from "../support/victim.js"

/** The number of file descriptors of a process; Node needs some 20. */
const FEW = 128

describe.each([
  ["tcp://", false],
  ["lz4+tcp://", false],
  ["lz4+tcp://", true],
])("over %s, with a thread: %s", (scheme, thread) => {
  const environment = { ZEROMQ_LZ4_THREAD: thread ? "1" : "" }

  test("a process that runs out of them says so, and continues", async () => {
    const script = new Script(
      `const router = new zmq.Router();
      let isTold = false;
      router.events.on("accept:error", ({ address, error }) => {
        if (!isTold) console.log(error.code, error.errno, error.message, address === router.lastEndpoint);
        isTold = true;
      });
      await router.bind(argument); console.log(router.lastEndpoint);
      for await (const [id, text] of router) { await router.send([id, text]); if (String(text) === "end") break }
      router.close();`,
      `${scheme}127.0.0.1:*`,
      FEW,
      environment,
    )
    const endpoint = await script.line()
    const port = Number(endpoint.split(":").at(-1))
    const flood = Array.from({ length: 200 }, () => connect(port, "127.0.0.1").resume())
    // A peer that finds no room may be reset before or after it is connected.
    await Promise.all(
      flood.map(
        (socket) => new Promise((settled) => socket.on("connect", settled).on("error", settled)),
      ),
    )
    expect(await script.line()).toBe("EMFILE 24 Too many open file descriptors true")
    for (const socket of flood) socket.destroy()
    // Refused until descriptors are free again.
    const dealer = use(new Dealer({ reconnectInterval: 20 }))
    dealer.connect(endpoint)
    await dealer.send("end")
    expect(String((await dealer.receive())[0])).toBe("end")
    expect(await script.ended(), script.errors).toEqual({ code: 0, signal: null })
  })
})

describe.each([false, true])("with a thread: %s", (thread) => {
  const environment = { ZEROMQ_LZ4_THREAD: thread ? "1" : "" }

  test("connect() without free ones retries until there are some", async () => {
    const pull = use(new Pull())
    await pull.bind(anyPort(lz4))
    let connects = 0
    pull.lz4.on("connect", () => connects++)
    const script = new Script(
      `const { closeSync, openSync } = process.getBuiltinModule("node:fs")
        const { subscribe } = process.getBuiltinModule("node:diagnostics_channel")
        const push = new zmq.Push({ reconnectInterval: 20, sendHighWaterMark: 1 })
        push.connect(argument)
        await push.send("before")
        while (push.lz4.connections.length === 0) await new Promise(setImmediate)
        let retries = 0
        const retried = new Promise((resolve) => subscribe("zeromq-lz4:reconnect", () => ++retries === 3 && resolve()))
        const files = []
        try { for (;;) files.push(openSync("/dev/null", "r")) } catch {}
        push.connect(argument)
        await push.send("first")
        await push.send("second") // in turn: one of them is for the pending connection
        const alive = setInterval(() => {}, 1000) // connecting does not keep the process alive
        await retried
        clearInterval(alive)
        console.log(push.lz4.connections.length)
        for (const file of files) closeSync(file)`,
      pull.lastEndpoint,
      FEW,
      environment,
    )
    expect(String(await pull.receive())).toBe("before")
    expect(await script.line()).toBe("1")
    const received = [await pull.receive(), await pull.receive()]
    expect(received.map(String).sort()).toEqual(["first", "second"])
    expect(connects).toBe(2)
    expect(await script.ended(), script.errors).toEqual({ code: 0, signal: null })
  })

  test("out of them, existing connections work, and new ones do once there are descriptors", async () => {
    const victim = await Victim.start("Pull", { descriptors: FEW, thread })
    const honest = new Honest(victim)
    await honest.works()
    const open = Array.from({ length: 200 }, () =>
      connect(portOf(victim.endpoint), "127.0.0.1").resume(),
    )
    // A peer that finds no room may be reset before or after it is connected.
    await Promise.all(
      open.map(
        (socket) => new Promise((settled) => socket.on("connect", settled).on("error", settled)),
      ),
    )
    for (let i = 0; i < 50; i++) await honest.works()
    for (const socket of open) socket.destroy()
    // The system may still close new connections, which are retried.
    await new Honest(victim).arrives()
    await honest.works()
    await eventually(async () => (await victim.state()).connections === 2)
  })
})
