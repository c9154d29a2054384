/** Load balancing and fair queueing (RFC 28 and 30). */
import { expect } from "vitest"
import type { Dealer, Push } from "zeromq"

import { scenario } from "../scenario.js"

for (const peers of [1, 2, 3, 5]) {
  scenario(
    `PUSH sends to ${peers} PULLs in turn, in the order of connect()`,
    async ({ zmq, make, bind, take, observe }) => {
      const push = make(zmq.Push)
      const pulls = Array.from({ length: peers }, () => make(zmq.Pull))
      for (const pull of pulls) push.connect(await bind(pull))
      for (let i = 0; i < peers * 3; i++) await push.send(`${i}`)
      for (const [i, pull] of pulls.entries()) observe(`pull ${i}`, await take(pull, 3))
    },
    { "pull 0": [["0"], [`${peers}`], [`${2 * peers}`]] },
  )
}

scenario(
  "DEALER sends whole messages to ROUTERs in turn",
  async ({ zmq, make, bind, take, observe }) => {
    const dealer = make(zmq.Dealer, { routingId: "D" })
    const routers = [make(zmq.Router), make(zmq.Router), make(zmq.Router)]
    for (const router of routers) dealer.connect(await bind(router))
    for (let i = 0; i < 6; i++) await dealer.send([`${i}`, "", "part"])
    for (const [i, router] of routers.entries()) observe(`router ${i}`, await take(router, 2))
  },
  {
    "router 2": [
      ["D", "2", "", "part"],
      ["D", "5", "", "part"],
    ],
  },
)

scenario(
  "REQ sends requests to REPs in turn",
  async ({ zmq, make, bind, observe }) => {
    const request = make(zmq.Request)
    const replies = [make(zmq.Reply), make(zmq.Reply), make(zmq.Reply)]
    for (const [i, reply] of replies.entries()) {
      request.connect(await bind(reply))
      const serve = async () => {
        for await (const [question] of reply) await reply.send([`reply ${i}`, question!])
      }
      serve().catch(() => {})
    }
    for (let i = 0; i < 7; i++) {
      await request.send(`${i}`)
      observe(`answer ${i}`, await request.receive())
    }
  },
  { "answer 3": ["reply 0", "3"], "answer 5": ["reply 2", "5"] },
)

scenario(
  "PUSH sends to the remaining and the new endpoints in turn after disconnect()",
  async ({ zmq, make, bind, take, disconnect, observe }) => {
    const push = make(zmq.Push)
    const pulls = [make(zmq.Pull), make(zmq.Pull), make(zmq.Pull), make(zmq.Pull)]
    const endpoints = await Promise.all(pulls.map((pull) => bind(pull)))
    for (const endpoint of endpoints.slice(0, 3)) push.connect(endpoint)
    for (let i = 0; i < 3; i++) await push.send(`before ${i}`)
    for (const [i, pull] of pulls.slice(0, 3).entries()) observe(`pull ${i}`, await pull.receive())
    await disconnect(push, endpoints[1]!, pulls[1]!)
    push.connect(endpoints[3]!)
    for (let i = 0; i < 6; i++) await push.send(`after ${i}`)
    for (const i of [0, 2, 3]) observe(`then pull ${i}`, await take(pulls[i]!, 2))
  },
  { "pull 1": ["before 1"] },
)

scenario(
  "PUSH sends to a peer with room while another has none",
  async ({ zmq, make, bind, take, at, observe }) => {
    const push = make(zmq.Push, { sendHighWaterMark: 2, linger: 0 })
    const pull = make(zmq.Pull)
    // Nothing listens at port 9, so messages for it are queued.
    push.connect(at("127.0.0.1:9"))
    const endpoint = await bind(pull)
    push.connect(endpoint)
    for (let i = 0; i < 8; i++) {
      await push.send(`${i}`)
      // One at a time, so that this pipe never fills up.
      if (i === 1 || i === 3 || i > 3) observe("received", await take(pull, 1))
    }
  },
  { received: [["7"]] },
)

scenario(
  "PULL receives from PUSHes in turn while all have messages",
  async ({ zmq, make, bind, take, settled, observe }) => {
    const pull = make(zmq.Pull)
    const pushes: Push[] = []
    for (let i = 0; i < 3; i++) {
      const push = make(zmq.Push)
      pull.connect(await bind(push))
      pushes.push(push)
    }
    for (const [i, push] of pushes.entries())
      for (let j = 0; j < 8; j++) await push.send([`${i}`, `${j}`])
    await settled()
    void pull.readable
    const senders = (await take(pull, 24)).map(([sender]) => String(sender))
    const rounds = Array.from({ length: 8 }, (_, i) => senders.slice(3 * i, 3 * i + 3).sort())
    observe("senders of each round", rounds)
  },
  { "senders of each round": Array.from({ length: 8 }, () => ["0", "1", "2"]) },
)

scenario(
  "PULL keeps the order of each PUSH",
  async ({ zmq, make, bind, take, observe }) => {
    const pull = make(zmq.Pull)
    const endpoint = await bind(pull)
    const pushes = Array.from({ length: 4 }, () => make(zmq.Push))
    for (const push of pushes) push.connect(endpoint)
    for (let i = 0; i < 200; i++)
      for (const [j, push] of pushes.entries()) await push.send([`${j}`, `${i}`])
    const received = await take(pull, 800)
    for (const j of pushes.keys()) {
      const own = received.filter(([sender]) => String(sender) === `${j}`)
      observe(`of ${j}`, own.map(([, i]) => String(i)).join())
    }
  },
  { "of 3": expect.stringMatching(/^<689 bytes|^0,1,2/) },
)

scenario(
  "parts of different messages are never interleaved",
  async ({ zmq, make, bind, take, observe }) => {
    const router = make(zmq.Router)
    const endpoint = await bind(router)
    const dealers: Dealer[] = []
    for (let i = 0; i < 3; i++) {
      const dealer = make(zmq.Dealer, { routingId: `${i}` })
      dealer.connect(endpoint)
      dealers.push(dealer)
    }
    for (let i = 0; i < 50; i++)
      for (const [j, dealer] of dealers.entries())
        await dealer.send(Array.from({ length: 20 }, () => `${j}.${i}`))
    const received = await take(router, 150)
    observe(
      "whole",
      received.every(
        (parts) =>
          parts.length === 21 &&
          parts.slice(1).every((part) => String(part) === String(parts[1])) &&
          String(parts[1]).startsWith(`${parts[0]}.`),
      ),
    )
  },
  { whole: true },
)

scenario(
  "SUB keeps the order of each of several publishers",
  async ({ zmq, make, bind, take, observe }) => {
    const subscriber = make(zmq.Subscriber)
    subscriber.subscribe()
    const publishers = [make(zmq.XPublisher), make(zmq.XPublisher)]
    for (const publisher of publishers) {
      subscriber.connect(await bind(publisher))
      observe("subscription", await publisher.receive())
    }
    for (let i = 0; i < 20; i++)
      for (const [j, publisher] of publishers.entries()) await publisher.send([`${j}`, `${i}`])
    const received = await take(subscriber, 40)
    for (const j of ["0", "1"])
      observe(
        `of ${j}`,
        received.filter(([sender]) => String(sender) === j).map(([, i]) => String(i)),
      )
  },
  { "of 0": expect.arrayContaining(["0", "19"]) },
)

scenario(
  "DEALER whose `writable` was read receives in the order of arrival",
  async ({ zmq, make, bind, joined, settled, take, observe }) => {
    const dealer = make(zmq.Dealer)
    const endpoint = await bind(dealer)
    const peers = [make(zmq.Dealer), make(zmq.Dealer), make(zmq.Dealer)]
    for (const [i, peer] of peers.entries()) {
      peer.connect(endpoint)
      await joined(dealer, i + 1)
    }
    for (const i of [2, 0, 1]) {
      void dealer.writable
      await peers[i]?.send(`${i}`)
      await settled()
    }
    observe("received", (await take(dealer, 3)).map(String))
  },
  { received: ["2", "0", "1"] },
)

scenario(
  "PULL moves its last peer to the turn of a peer that has left",
  async ({ zmq, make, bind, happened, joined, settled, take, observe }) => {
    const pull = make(zmq.Pull)
    const endpoint = await bind(pull)
    const pushes = ["a", "b", "c", "d"].map((name) => ({ name, push: make(zmq.Push) }))
    for (const [i, { push }] of pushes.entries()) {
      push.connect(endpoint)
      await joined(pull, i + 1)
    }
    for (const { name, push } of pushes) {
      for (let i = 0; i < (name === "a" ? 1 : 3); i++) await push.send(`${name}${i}`)
      await settled()
      void pull.readable
    }
    pushes[0]?.push.close()
    await happened(pull, "disconnect")
    await settled()
    observe("received", (await take(pull, 10)).map(String))
  },
  { received: expect.arrayContaining(["a0", "d2"]) },
)
