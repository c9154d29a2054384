/** PLAIN, and ZAP (RFC 27) for NULL and PLAIN. */
import { expect } from "vitest"

import { property } from "../raw-peer.js"
import { NEVER_MS, scenario } from "../scenario.js"
import { answers, shown, unique, WRONG_ANSWERS, zap } from "../zap.js"

scenario(
  "PLAIN without a handler refuses all peers",
  async ({ zmq, make, bind, attempt, happened, observe, eventTypes }) => {
    // The handler of another scenario may not be gone yet.
    const context = new zmq.Context()
    const pull = make(zmq.Pull, { context, plainServer: true, receiveTimeout: 500 })
    const push = make(zmq.Push, {
      plainUsername: "user",
      plainPassword: "secret",
      reconnectInterval: NEVER_MS,
    })
    observe("mechanisms", [pull.securityMechanism, push.securityMechanism])
    push.connect(await bind(pull))
    await push.send("text")
    observe("received", Object.keys(await attempt(() => pull.receive())))
    await happened(pull, "disconnect")
    await happened(push, "connect:retry")
    observe("pull", unique(eventTypes(pull)))
    observe("push", unique(eventTypes(push)))
  },
  { mechanisms: ["plain", "plain"], received: ["rejects"] },
)

scenario(
  "PLAIN with a handler that accepts",
  async (run) => {
    const { zmq, make, bind, observe } = run
    const requests = await zap(run, answers[200])
    const pull = make(zmq.Pull, { plainServer: true, zapDomain: "domain" })
    const push = make(zmq.Push, { plainUsername: "user", plainPassword: "secret" })
    push.connect(await bind(pull))
    await push.send("text")
    observe("received", await pull.receive())
    observe(
      "requests",
      shown(requests).map((request) => request.map((part, i) => (i === 2 ? "address" : part))),
    )
  },
  { received: ["text"], requests: [["1.0", "domain", "address", "", "PLAIN", "user", "secret"]] },
)

scenario(
  "the address in a ZAP request",
  async (run) => {
    const { zmq, make, bind, observe } = run
    const requests = await zap(run, answers[200])
    const pull = make(zmq.Pull, { plainServer: true })
    const push = make(zmq.Push, { plainUsername: "user", plainPassword: "secret" })
    push.connect(await bind(pull))
    await push.send("text")
    await pull.receive()
    observe("requests", shown(requests))
  },
  { requests: [["1.0", "", "127.0.0.1", "", "PLAIN", "user", "secret"]] },
)

scenario(
  "the routing id in a ZAP request",
  async (run) => {
    const { zmq, make, bind, observe } = run
    const requests = await zap(run, answers[200])
    const router = make(zmq.Router, { plainServer: true, routingId: "server", zapDomain: "d" })
    const dealer = make(zmq.Dealer, { plainUsername: "u", plainPassword: "p", routingId: "client" })
    dealer.connect(await bind(router))
    await dealer.send("text")
    observe("received", await router.receive())
    observe("requests", shown(requests))
  },
  { received: ["client", "text"], requests: [expect.arrayContaining(["PLAIN", "u"])] },
)

for (const code of [300, 400, 500] as const) {
  scenario(
    `PLAIN with a handler that replies ${code}`,
    async (run) => {
      const { zmq, make, bind, observe, happened, settled, eventTypes, events } = run
      await zap(run, answers[code])
      const pull = make(zmq.Pull, { plainServer: true, zapDomain: "domain" })
      const push = make(zmq.Push, {
        plainUsername: "user",
        plainPassword: "wrong",
        reconnectInterval: NEVER_MS,
      })
      push.connect(await bind(pull))
      await happened(pull, "handshake:error:auth")
      observe(
        "error",
        events(pull).find(({ type }) => type.includes("error")),
      )
      // With 300 libzmq may or may not close the connection, depending on the reply's timing.
      if (code === 300) {
        observe("pull", eventTypes(pull).slice(0, 3))
        return
      }
      await happened(pull, "disconnect")
      await happened(push, "disconnect")
      await settled()
      observe("pull", unique(eventTypes(pull)))
      observe("push", unique(events(push)))
    },
    { pull: expect.arrayContaining(["accept", "handshake:error:auth"]) },
  )
}

scenario(
  "a client that was refused may connect with the right password",
  async (run) => {
    const { zmq, make, bind, observe, happened } = run
    const requests = await zap(run, (request) =>
      answers[String(request.at(-1)) === "right" ? 200 : 400](request),
    )
    const pull = make(zmq.Pull, { plainServer: true, zapDomain: "domain" })
    const endpoint = await bind(pull)
    const wrong = make(zmq.Push, {
      plainUsername: "u",
      plainPassword: "wrong",
      reconnectInterval: -1,
    })
    wrong.connect(endpoint)
    await happened(wrong, "disconnect")
    const right = make(zmq.Push, { plainUsername: "u", plainPassword: "right" })
    right.connect(endpoint)
    await right.send("text")
    observe("received", await pull.receive())
    observe(
      "passwords",
      requests.map((request) => request.at(-1)),
    )
  },
  { received: ["text"], passwords: ["wrong", "right"] },
)

for (const [name, answer] of Object.entries(WRONG_ANSWERS)) {
  scenario(
    `a ZAP handler that answers with ${name}`,
    async (run) => {
      const { zmq, make, bind, observe, happened, settled, events } = run
      await zap(run, answer)
      const pull = make(zmq.Pull, { plainServer: true, zapDomain: "domain" })
      const push = make(zmq.Push, {
        plainUsername: "user",
        plainPassword: "secret",
        reconnectInterval: NEVER_MS,
      })
      push.connect(await bind(pull))
      await happened(pull, "disconnect")
      await settled()
      observe("pull", unique(events(pull)))
    },
    { pull: expect.arrayContaining([expect.objectContaining({ type: "accept" })]) },
  )
}

scenario(
  "NULL with a domain sends the handler a request",
  async (run) => {
    const { zmq, make, bind, observe } = run
    const requests = await zap(run, answers[200])
    const pull = make(zmq.Pull, { zapDomain: "null domain" })
    const push = make(zmq.Push)
    push.connect(await bind(pull))
    await push.send("text")
    observe("received", await pull.receive())
    observe("requests", shown(requests))
  },
  { received: ["text"], requests: [["1.0", "null domain", "127.0.0.1", "", "NULL"]] },
)

scenario(
  "NULL without a domain sends the handler nothing",
  async (run) => {
    const { zmq, make, bind, observe } = run
    const requests = await zap(run, answers[400])
    const pull = make(zmq.Pull)
    const push = make(zmq.Push)
    push.connect(await bind(pull))
    await push.send("text")
    observe("received", await pull.receive())
    observe("requests", requests.length)
  },
  { received: ["text"], requests: 0 },
)

scenario(
  "a handler may refuse a NULL peer",
  async (run) => {
    const { zmq, make, bind, observe, happened, settled, events } = run
    await zap(run, answers[400])
    const pull = make(zmq.Pull, { zapDomain: "domain" })
    const push = make(zmq.Push, { reconnectInterval: NEVER_MS })
    push.connect(await bind(pull))
    await happened(pull, "disconnect")
    await happened(push, "disconnect")
    await settled()
    observe("pull", unique(events(pull)))
    observe("push", unique(events(push)))
  },
  { pull: expect.arrayContaining([expect.objectContaining({ type: "handshake:error:auth" })]) },
)

// Without a domain libzmq aborts the process.
scenario(
  "zapEnforceDomain with a domain, and PLAIN",
  async (run) => {
    const { zmq, make, bind, observe } = run
    const requests = await zap(run, answers[200])
    const pull = make(zmq.Pull, { plainServer: true, zapEnforceDomain: true, zapDomain: "domain" })
    const push = make(zmq.Push, { plainUsername: "user", plainPassword: "secret" })
    push.connect(await bind(pull))
    await push.send("text")
    observe("received", await pull.receive())
    observe("requests", shown(requests))
  },
  { received: ["text"] },
)

scenario(
  "NULL with a domain and no handler",
  async ({ zmq, make, bind, observe, attempt, settled, eventTypes }) => {
    // The handler of another scenario may not be gone yet.
    const context = new zmq.Context()
    const pull = make(zmq.Pull, { context, zapDomain: "domain", receiveTimeout: 100_000 })
    const push = make(zmq.Push, { reconnectInterval: NEVER_MS })
    push.connect(await bind(pull))
    await push.send("text")
    observe("received", Object.keys(await attempt(() => pull.receive())))
    await settled(context)
    await settled()
    observe("pull", unique(eventTypes(pull)))
    observe("push", unique(eventTypes(push)))
  },
  { received: ["resolves"], pull: expect.arrayContaining(["accept"]) },
)

scenario(
  "PLAIN and NULL peers refuse each other",
  async ({ zmq, make, bind, observe, happened, settled, events }) => {
    const pull = make(zmq.Pull, { plainServer: true })
    const push = make(zmq.Push, { reconnectInterval: NEVER_MS })
    push.connect(await bind(pull))
    await happened(pull, "disconnect")
    await happened(push, "disconnect")
    await settled()
    observe("pull", unique(events(pull)))
    observe("push", unique(events(push)))
  },
  { pull: expect.arrayContaining([expect.objectContaining({ type: "accept" })]) },
)

scenario(
  "two PLAIN clients, or two PLAIN servers, complete no handshake",
  async ({ zmq, make, bind, observe, settled, eventTypes, until }) => {
    const client = { plainUsername: "u", plainPassword: "p", reconnectInterval: NEVER_MS }
    const [a, b] = [make(zmq.Pull, client), make(zmq.Push, client)]
    b.connect(await bind(a))
    await until(() => eventTypes(a).includes("accept"))
    await settled()
    observe("client, client", [unique(eventTypes(a)), unique(eventTypes(b))])
    const server = { plainServer: true, reconnectInterval: NEVER_MS }
    const [c, d] = [make(zmq.Pull, server), make(zmq.Push, server)]
    d.connect(await bind(c))
    await until(() => eventTypes(c).includes("accept"))
    await settled()
    observe("server, server", [unique(eventTypes(c)), unique(eventTypes(d))])
  },
  { "client, client": expect.any(Array) },
)

const credentials = (user: string, password: string) =>
  Buffer.concat([
    Buffer.from([user.length]),
    Buffer.from(user),
    Buffer.from([password.length]),
    Buffer.from(password),
  ])

scenario(
  "a raw PLAIN client",
  async (run) => {
    const { zmq, make, bind, observe, rawConnection, until } = run
    const requests = await zap(run, answers[200])
    const pull = make(zmq.Pull, { plainServer: true })
    const peer = await rawConnection(await bind(pull))
    peer.greet({ mechanism: "PLAIN" })
    peer.command("HELLO", credentials("me", "pass"))
    await until(() => peer.frames.includes("command WELCOME"))
    peer.command("INITIATE", property("Socket-Type", "PUSH"))
    await until(() => peer.frames.includes("command READY"))
    peer.message("text")
    observe("received", await pull.receive())
    observe("frames", peer.frames)
    observe("greeting", peer.greeting.toString("hex"))
    observe("requests", shown(requests))
  },
  { frames: ["command WELCOME", "command READY"], received: ["text"] },
)

scenario(
  "a raw PLAIN client that is refused",
  async (run) => {
    const { zmq, make, bind, observe, rawConnection, happened, settled, until, events } = run
    await zap(run, answers[400])
    const pull = make(zmq.Pull, { plainServer: true })
    const peer = await rawConnection(await bind(pull))
    peer.greet({ mechanism: "PLAIN" })
    peer.command("HELLO", credentials("me", "wrong"))
    // The name of its ERROR is misspelt by libzmq: "^RROR".
    await until(() => peer.frames.length)
    await settled()
    observe("closed", peer.closed)
    observe("frames", peer.frames.length)
    observe("events", events(pull))
    peer.close()
    await happened(pull, "disconnect")
    observe("events then", events(pull))
  },
  { frames: 1 },
)

scenario(
  "a raw PLAIN server",
  async ({ zmq, make, observe, rawListener, until }) => {
    const listener = await rawListener()
    const pull = make(zmq.Pull, { plainUsername: "me", plainPassword: "secret" })
    pull.connect(listener.endpoint)
    await until(() => listener.peers.length)
    const peer = listener.peers[0]!
    peer.greet({ mechanism: "PLAIN", asServer: true })
    await until(() => peer.frames.includes("command HELLO"))
    observe("hello", peer.commands("HELLO"))
    peer.command("WELCOME")
    await until(() => peer.frames.includes("command INITIATE"))
    observe("initiate", peer.metadata("INITIATE"))
    peer.command("READY", property("Socket-Type", "PUSH"))
    peer.message("text")
    observe("received", await pull.receive())
    observe("greeting", peer.greeting.toString("hex"))
  },
  { hello: ["hex:026d6506736563726574"], received: ["text"] },
)

for (const [name, body] of Object.entries({
  empty: Buffer.alloc(0),
  "without a password": Buffer.from([2, 65, 66]),
  "with a truncated name": Buffer.from([9, 65, 66]),
  "with more bytes than its lengths declare": Buffer.from([1, 65, 1, 66, 67]),
})) {
  scenario(
    `a raw PLAIN client sends a HELLO ${name}`,
    async ({ zmq, make, bind, observe, rawConnection, happened, settled, events }) => {
      const pull = make(zmq.Pull, { plainServer: true })
      const peer = await rawConnection(await bind(pull))
      peer.greet({ mechanism: "PLAIN" })
      peer.command("HELLO", body)
      await happened(pull, "disconnect")
      await settled()
      observe("events", events(pull))
    },
    { events: expect.arrayContaining([expect.objectContaining({ type: "accept" })]) },
  )
}
