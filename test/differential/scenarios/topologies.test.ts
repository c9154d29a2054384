/** Chains, rings and brokers: several sockets that both bind and connect. */
import { keptProxy } from "../../support/kept-proxy.js"
import { type Run, scenario } from "../scenario.js"

const NAMES = ["a", "b", "c"] as const

scenario(
  "REQ to REP through a chain of three proxies",
  async ({ zmq, make, bind, use, observe }) => {
    const reply = make(zmq.Reply)
    let endpoint = await bind(reply)
    for (let i = 0; i < 3; i++) {
      const [front, back] = [make(zmq.Router), make(zmq.Dealer)]
      back.connect(endpoint)
      endpoint = await bind(front)
      const proxy = keptProxy(new zmq.Proxy(front, back))
      proxy.run().catch(() => {})
      use({ close: () => proxy.terminate() })
    }
    const requests = [make(zmq.Request), make(zmq.Request)]
    const serving = (async () => {
      for await (const question of reply) await reply.send(["answer", ...question])
    })()
    serving.catch(() => {})
    for (const request of requests) request.connect(endpoint)
    for (let i = 0; i < 3; i++) {
      await Promise.all(requests.map((request, at) => request.send([`${at}.${i}`, "", "part"])))
      observe("answers", await Promise.all(requests.map((request) => request.receive())))
    }
  },
  {
    answers: [
      ["answer", "0.2", "", "part"],
      ["answer", "1.2", "", "part"],
    ],
  },
)

/** Waits until sockets have noticed `peers` peers each. */
async function joinedAll({ joined }: Run, sockets: Parameters<Run["joined"]>[0][], peers: number) {
  for (const socket of sockets) await joined(socket, peers)
}

scenario(
  "ROUTERs in a ring, each of which binds and connects, reach both neighbours",
  async (run) => {
    const { zmq, make, bind, attempt, observe } = run
    const routers = NAMES.map((routingId) => make(zmq.Router, { routingId, mandatory: true }))
    const endpoints: string[] = []
    for (const router of routers) endpoints.push(await bind(router))
    for (const [i, router] of routers.entries()) router.connect(endpoints[(i + 1) % 3] as string)
    await joinedAll(run, routers, 2)
    for (const [from, router] of routers.entries())
      for (const [to, name] of NAMES.entries()) {
        if (from === to) observe("itself", await attempt(() => router.send([name, "x"])))
        else {
          await run.until(
            async () => !("rejects" in (await attempt(() => router.send([name, "x"])))),
          )
          observe("received", await routers[to]?.receive())
        }
      }
  },
  { received: ["c", "x"], itself: { rejects: { code: "EHOSTUNREACH" } } },
)

scenario(
  "a broker gives requests to workers that are ready",
  async ({ zmq, make, bind, until, observe }) => {
    const [front, back] = [make(zmq.Router), make(zmq.Router)]
    const [frontEndpoint, backEndpoint] = [await bind(front), await bind(back)]
    const ready: Buffer[] = []
    const waiting: Buffer[][] = []
    const dispatch = async () => {
      while (ready.length > 0 && waiting.length > 0)
        await back.send([ready.shift() as Buffer, "", ...(waiting.shift() as Buffer[])])
    }
    const fromWorkers = async () => {
      for await (const [worker, , ...reply] of back) {
        if (reply.length > 1) await front.send(reply)
        ready.push(worker as Buffer)
        await dispatch()
      }
    }
    const fromClients = async () => {
      for await (const request of front) {
        waiting.push(request)
        await dispatch()
      }
    }
    const work = async () => {
      const worker = make(zmq.Request)
      worker.connect(backEndpoint)
      await worker.send("ready")
      for await (const [client, , body] of worker)
        await worker.send([client as Buffer, "", `did ${body}`])
    }
    for (const task of [fromWorkers, fromClients, work, work, work]) task().catch(() => {})
    await until(() => ready.length === 3)
    const ask = async (name: string) => {
      const client = make(zmq.Request, { routingId: name })
      client.connect(frontEndpoint)
      const answers: string[] = []
      for (let i = 0; i < 10; i++) {
        await client.send(`${name}.${i}`)
        answers.push(String(await client.receive()))
      }
      return answers
    }
    observe("answers", await Promise.all(["p", "q", "r", "s", "t"].map(ask)))
    await until(() => ready.length === 3)
    observe("waiting", waiting)
  },
  { waiting: [] },
)

scenario(
  "a mandatory ROUTER refuses messages to a peer that has gone, before it has received its messages",
  async ({ zmq, make, bind, joined, happened, settled, attempted, observe }) => {
    const router = make(zmq.Router, { mandatory: true })
    const dealer = make(zmq.Dealer, { routingId: "peer" })
    dealer.connect(await bind(router))
    await joined(router)
    await dealer.send("one")
    await dealer.send("two")
    await settled()
    void router.readable
    dealer.close()
    await happened(router, "disconnect")
    await settled()
    observe("writable", router.writable)
    await attempted("send", () => router.send(["peer", "x"]))
    observe("received", [await router.receive(), await router.receive()])
  },
  {
    send: { rejects: { code: "EHOSTUNREACH" } },
    received: [
      ["peer", "one"],
      ["peer", "two"],
    ],
  },
)
