// Exchanges of messages that use what zeromq.js's versions may differ in: options, endpoints of its own, CURVE.
import * as zmq from "zeromq-lz4"

const text = "a message that is long enough to be compressed. ".repeat(50)

/** Binds a socket and connects another. */
async function exchange([Bound, boundOptions], [Connected, connectedOptions], steps) {
  for (const thread of [false, true]) {
    const bound = new Bound(boundOptions)
    const connected = new Connected(connectedOptions)
    await bound.bind("lz4+tcp://127.0.0.1:*", { thread })
    connected.connect(bound.lastEndpoint, { thread })
    await steps(bound, connected)
    bound.close()
    connected.close()
  }
}

const check = (received) => {
  if (String(received.at(-1)) !== text) throw new Error(`came ${received}`)
}

await exchange([zmq.Pull, { receiveHighWaterMark: 5 }], [zmq.Push], async (pull, push) => {
  await push.send(["first", text])
  check(await pull.receive())
})
await exchange([zmq.Reply], [zmq.Request, { linger: 0 }], async (reply, request) => {
  await request.send(text)
  check(await reply.receive())
  await reply.send(text)
  check(await request.receive())
})
await exchange([zmq.Router], [zmq.Dealer, { routingId: "me" }], async (router, dealer) => {
  await dealer.send(text)
  const [id] = await router.receive()
  await router.send([id, text])
  check(await dealer.receive())
})
await exchange([zmq.XPublisher], [zmq.Subscriber], async (publisher, subscriber) => {
  subscriber.subscribe("topic")
  await publisher.receive()
  await publisher.send(["topic", text])
  check(await subscriber.receive())
})

if (zmq.capability.curve) {
  const [server, client] = [zmq.curveKeyPair(), zmq.curveKeyPair()]
  await exchange(
    [zmq.Pull, { curveServer: true, curveSecretKey: server.secretKey }],
    [
      zmq.Push,
      {
        curveServerKey: server.publicKey,
        curvePublicKey: client.publicKey,
        curveSecretKey: client.secretKey,
      },
    ],
    async (pull, push) => {
      await push.send(text)
      check(await pull.receive())
    },
  )
}

// Both kinds of endpoints, and a peer over tcp://.
const [pull, push] = [new zmq.Pull(), new zmq.Push()]
await pull.bind("tcp://127.0.0.1:*")
push.connect(pull.lastEndpoint)
await pull.bind("lz4+tcp://127.0.0.1:*", { acceptPlain: true })
push.connect(pull.lastEndpoint)
push.connect(pull.lastEndpoint.replace("lz4+", ""))
for (let i = 0; i < 3; i++) await push.send(text)
for (let i = 0; i < 3; i++) check(await pull.receive())
pull.close()
push.close()

console.log("all works")
