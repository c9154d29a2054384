/** `socket.events`: the events of libzmq, with the user's endpoints. */
import { beforeEach, describe, expect, test } from "vitest"
import { Dealer, type Event, type EventType } from "zeromq-lz4"

import { rawZmtpPeer } from "../support/raw-peer.js"
import { eventually, freePort, use } from "../support/sockets.js"
import { transports } from "../support/transports.js"

describe.each(transports)("over $name", ({ scheme }) => {
  let [a, b] = [] as unknown as [Dealer, Dealer]
  let address: string

  /** Collects events of these types, and resolves when all have arrived. */
  const collect = ({ events }: Dealer, ...types: EventType[]) => {
    const collected: Event[] = []
    for (const type of types) events.on(type, (event) => collected.push(event))
    return async () => {
      await eventually(() => types.every((type) => collected.some((event) => event.type === type)))
      return collected
    }
  }

  beforeEach(async () => {
    a = use(new Dealer({ reconnectInterval: 10 }))
    b = use(new Dealer({ reconnectInterval: 10 }))
    address = `${scheme}127.0.0.1:${await freePort()}`
  })

  test("report the endpoint when it is bound, connected and closed", async () => {
    const [ofA, ofB] = [
      collect(a, "accept", "handshake", "disconnect", "close", "end"),
      collect(b, "connect", "handshake", "end"),
    ]
    const gone = collect(a, "disconnect")
    await a.bind(address)
    b.connect(address)
    await b.send("text")
    await a.receive()
    b.close()
    for (const event of await ofB())
      if ("address" in event) expect(event).toEqual({ type: event.type, address })
    await gone()
    a.close()
    for (const event of await ofA())
      if ("address" in event) expect(event).toMatchObject({ type: event.type, address })
  })

  test("report a disconnect for a lost peer, and an accept for the next", async () => {
    const events = collect(a, "disconnect")
    await a.bind(address)
    const peer = use(await rawZmtpPeer(address, "DEALER"))
    peer.close()
    for (const event of await events()) expect(event).toMatchObject({ address })
  })

  test("can be received one at a time, until the socket is closed", async () => {
    const { events } = a
    expect(a.events).toBe(events)
    a.close()
    expect(await events.receive()).toEqual({ type: "end" })
    expect(events.closed).toBe(true)
    await expect(async () => events.receive()).rejects.toMatchObject({ code: "EBADF" })
  })

  test("can be iterated", async () => {
    const types: EventType[] = []
    const iterating = (async () => {
      for await (const { type } of b.events) types.push(type)
    })()
    await a.bind(address)
    b.connect(address)
    await b.send("text")
    await a.receive()
    b.close()
    await iterating
    expect(types).toContain("handshake")
    expect(types.at(-1)).toBe("end")
  })

  test("cannot be received once there are listeners", () => {
    a.events.on("bind", () => {})
    expect(() => a.events.receive()).toThrow(/emitter mode/)
  })

  test("a removed listener is not called any more", async () => {
    let heard = 0
    const listener = () => heard++
    a.events.on("accept", listener)
    a.events.off("accept", listener)
    const others = collect(a, "accept")
    await a.bind(address)
    b.connect(address)
    await others()
    expect(heard).toBe(0)
  })
})

test("over lz4+tcp://, a listener of unbind's close event may bind again", async () => {
  const socket = use(new Dealer())
  const address = `lz4+tcp://127.0.0.1:${await freePort()}`
  await socket.bind(address)
  const bound = new Promise<void>((resolve) => {
    socket.events.on("close", () => {
      if (!socket.closed) resolve((async () => socket.bind(address))())
    })
  })
  await socket.unbind(address)
  await bound
})

// Over tcp://, libzmq has the address in place of the name from the second attempt on.
test("over lz4+tcp://, events have the endpoint as it was given, also after the first attempt", async () => {
  const socket = use(new Dealer({ reconnectInterval: 10 }))
  const address = `lz4+tcp://localhost:${await freePort()}`
  const retries: Event[] = []
  socket.events.on("connect:retry", (event) => retries.push(event))
  socket.connect(address)
  await eventually(() => retries.length > 2)
  for (const event of retries) expect(event).toMatchObject({ address })
})

// Over tcp://, libzmq would wait forever until the next event is received.
test("over lz4+tcp://, queued events are dropped when the observer is closed", async () => {
  const socket = use(new Dealer())
  const { events } = socket
  await socket.bind("lz4+tcp://127.0.0.1:*")
  events.close()
  expect(() => events.receive()).toThrow(expect.objectContaining({ code: "EBADF" }))
})
