/** The draft sockets: queues, timeouts, reconnection, and commands on the wire. */
import { expect } from "vitest"

import { NEVER_MS, type Outcome, scenario } from "../scenario.js"

const sent = (outcome: Outcome) => "resolves" in outcome

for (const type of ["Client", "Scatter"] as const) {
  scenario(
    `${type} connected to an unused port queues messages up to its high-water mark`,
    async ({ draft, make, at, attempt, attempted, observe }) => {
      const socket = make(draft[type] as typeof draft.Client, {
        sendHighWaterMark: 3,
        sendTimeout: 0,
        linger: 0,
      })
      socket.connect(at("127.0.0.1:9"))
      let count = 0
      while (sent(await attempt(() => socket.send(`${count}`)))) count++
      observe("sent", count)
      observe("writable", socket.writable)
      await attempted("one more", () => socket.send("one more"))
    },
    { sent: 3, "one more": { rejects: { code: "EAGAIN" } } },
  )

  scenario(
    `${type} that is bound has nowhere to send to`,
    async ({ draft, make, bind, attempted, observe }) => {
      const socket = make(draft[type] as typeof draft.Client, { sendTimeout: 0 })
      await bind(socket)
      observe("writable", socket.writable)
      await attempted("send", () => socket.send("text"))
    },
    { writable: false, send: { rejects: { code: "EAGAIN" } } },
  )
}

for (const type of ["Client", "Gather", "Dish", "Server"] as const) {
  scenario(
    `${type}: receive() times out, and is EBUSY while another receive() waits`,
    async ({ draft, make, bind, attempt, attempted, observe }) => {
      const socket = make(draft[type] as typeof draft.Client, { receiveTimeout: 0 })
      await bind(socket)
      await attempted("0", () => socket.receive())
      socket.receiveTimeout = 30
      await attempted("30", () => socket.receive())
      socket.receiveTimeout = -1
      const waiting = attempt(() => socket.receive())
      await attempted("busy", () => socket.receive())
      socket.close()
      observe("waiting", await waiting)
      await attempted("closed", () => socket.receive())
    },
    { busy: { throws: { code: "EBUSY" } }, waiting: { rejects: { code: "EAGAIN" } } },
  )
}

scenario(
  "CLIENT reaches a SERVER that has restarted",
  async ({ draft, make, bind, until, attempt, happened, observe }) => {
    const client = make(draft.Client, { reconnectInterval: 10 })
    const first = make(draft.Server)
    const endpoint = await bind(first)
    client.connect(endpoint)
    await client.send("1")
    observe("first", (await first.receive())[0])
    first.close()
    await happened(client, "disconnect")
    await client.send("2")
    const second = make(draft.Server)
    await until(async () => sent(await attempt(() => second.bind(endpoint))))
    const [text, options] = await second.receive()
    observe("second", text)
    await second.send("answer", options)
    observe("answer", await client.receive())
  },
  { second: "2", answer: ["answer"] },
)

scenario(
  "SERVER cannot send to a client that has disconnected",
  async ({ draft, make, bind, until, attempt, happened, observe }) => {
    const server = make(draft.Server)
    const client = make(draft.Client)
    client.connect(await bind(server))
    await client.send("text")
    const [, options] = await server.receive()
    client.close()
    await happened(server, "disconnect")
    // EAGAIN until libzmq has removed the peer.
    let last: Outcome | undefined
    await until(async () => {
      void server.readable
      last = await attempt(() => server.send("answer", options))
      return "rejects" in last && (last.rejects as { code: string }).code === "EHOSTUNREACH"
    })
    observe("gone", last)
  },
  { gone: { rejects: { code: "EHOSTUNREACH" } } },
)

scenario(
  "SERVER receives from clients in turn, and each gets the replies to its own messages",
  async ({ draft, make, bind, observe }) => {
    const server = make(draft.Server)
    const endpoint = await bind(server)
    const clients = [make(draft.Client), make(draft.Client), make(draft.Client)]
    for (const client of clients) client.connect(endpoint)
    for (let i = 0; i < 5; i++) {
      for (const [j, client] of clients.entries()) await client.send(`${i} of ${j}`)
      for (const _ of clients) {
        const [text, options] = await server.receive()
        await server.send(`answer to ${text}`, options)
      }
      for (const [j, client] of clients.entries()) observe(`client ${j}`, await client.receive())
    }
  },
  { "client 2": ["answer to 4 of 2"] },
)

scenario(
  "DISH receives nothing from a group that it has left",
  async ({ draft, make, bind, rawPeer, until, observe }) => {
    const dish = make(draft.Dish)
    dish.join("one")
    const peer = await rawPeer(await bind(dish), { socketType: "RADIO" })
    // libzmq joins at a new peer when the socket is next used.
    await until(() => {
      void dish.readable
      return peer.commands("JOIN").length >= 1
    })
    dish.join("two")
    dish.leave("one")
    await until(() => peer.commands("LEAVE").length >= 1)
    observe("join", peer.commands("JOIN"))
    observe("leave", peer.commands("LEAVE"))
    peer.message("one", "not for us")
    peer.message("two", "for us")
    observe("received", await dish.receive())
  },
  { leave: [expect.any(String)], received: ["for us", { group: "two" }] },
)

scenario(
  "RADIO sends a raw peer only the groups that it has joined",
  async ({ draft, make, bind, rawPeer, until, observe }) => {
    const radio = make(draft.Radio)
    const peer = await rawPeer(await bind(radio), { socketType: "DISH" })
    peer.command("JOIN", Buffer.from("group"))
    await until(async () => {
      await radio.send("probe", { group: "group" })
      return peer.frames.length > 1
    })
    peer.command("JOIN", Buffer.from("other"))
    await until(async () => {
      await radio.send("second probe", { group: "other" })
      return peer.frames.at(-1)!.includes("second probe")
    })
    await radio.send("not seen", { group: "third" })
    await radio.send("last", { group: "group" })
    await until(() => peer.frames.at(-1)!.endsWith("last"))
    observe("frames", [...new Set(peer.frames)])
  },
  { frames: expect.arrayContaining(["message group|last"]) },
)

for (const type of ["Server", "Radio"] as const)
  scenario(
    `${type} refuses messages without its kind of routing`,
    async ({ draft, make, bind, attempted }) => {
      const socket = make(draft[type] as typeof draft.Client)
      await bind(socket)
      const wrong = {
        nothing: undefined,
        text: "text",
        empty: {},
        "a group": { group: "group" },
        "no group": { group: null },
        "a routing id": { routingId: 5 },
        "routing id 0": { routingId: 0 },
        "a routing id that is text": { routingId: "5" },
        "a routing id of 33 bits": { routingId: 2 ** 32 },
      }
      const send = (options: unknown) =>
        (socket.send as (...args: unknown[]) => unknown)("x", options)
      for (const [name, options] of Object.entries(wrong))
        await attempted(name, () => send(options))
      socket.close()
      for (const [name, options] of Object.entries(wrong))
        await attempted(`${name} then`, () => send(options))
    },
    { empty: { throws: { code: "EINVAL" } }, "nothing then": { throws: { name: "TypeError" } } },
  )

scenario(
  "join() and leave() are EBUSY during bind",
  async ({ draft, make, at, attempted }) => {
    const dish = make(draft.Dish)
    const binding = dish.bind(at("127.0.0.1:*"))
    await attempted("join", () => dish.join("group"))
    await attempted("leave", () => dish.leave("group"))
    await binding
    await attempted("join then", () => dish.join("group"))
  },
  { join: { throws: { code: "EBUSY" } } },
)

for (const [type, partner] of [
  ["Server", "CLIENT"],
  ["Client", "SERVER"],
  ["Radio", "DISH"],
  ["Dish", "RADIO"],
  ["Gather", "SCATTER"],
  ["Scatter", "GATHER"],
] as const) {
  scenario(
    `${type}: its READY command, options and properties`,
    async ({ draft, make, bind, rawPeer, observe }) => {
      const socket = make(draft[type] as typeof draft.Client)
      observe("at first", [socket.type, socket.threadSafe, socket.readable, socket.writable])
      const peer = await rawPeer(await bind(socket), { socketType: partner })
      observe("ready", peer.metadata("READY"))
      observe("lastEndpoint", socket.lastEndpoint)
      socket.close()
      observe("closed", [socket.closed, socket.readable, socket.writable])
    },
    { closed: [true, false, false] },
  )
}

scenario(
  "incompatible draft sockets refuse each other",
  async ({ draft, make, bind, happened, settled, eventTypes, observe }) => {
    const server = make(draft.Server)
    const gather = make(draft.Gather, { reconnectInterval: NEVER_MS })
    gather.connect(await bind(server))
    await happened(server, "disconnect")
    await happened(gather, "disconnect")
    await settled()
    observe("server", eventTypes(server))
    observe("gather", eventTypes(gather))
  },
  { server: expect.arrayContaining(["accept", "disconnect"]) },
)

scenario(
  "RADIO sends to the group of the first 255 bytes of a longer name, or of those before a zero",
  async ({ draft, make, bind, take, until, observe }) => {
    const [radio, dish] = [make(draft.Radio), make(draft.Dish)]
    const group = "x".repeat(255)
    dish.join(group, "y")
    dish.connect(await bind(radio))
    let arrived = false
    const first = dish.receive().then(() => {
      arrived = true
    })
    await until(async () => {
      if (!arrived) await radio.send("probe", { group })
      return arrived
    })
    await first
    await radio.send("last probe", { group })
    while (String((await dish.receive())[0]) !== "last probe");
    await radio.send("1", { group: `${group}x` })
    await radio.send("2", { group: Buffer.from(`${group}yz`) })
    await radio.send("3", { group: `y\0${group}` })
    observe(
      "received",
      (await take(dish, 3)).map(([text, { group }]) => [String(text), group.length]),
    )
  },
  {
    received: [
      ["1", 255],
      ["2", 255],
      ["3", 1],
    ],
  },
)
