import zmq, { type EndpointOptions, Push, Router, type Traffic } from "zeromq-lz4"
import { Client } from "zeromq-lz4/draft"
import compat, { type Socket as OldSocket, socket, ZMQ_SNDMORE } from "zeromq-lz4/v5-compat"

/** Compiled, not run: a class of a user's program. */
export class Logging extends Push {
  override connect(address: string, options?: EndpointOptions): void {
    console.log(address)
    super.connect(address, options)
  }
}

/** Compiled, not run: a program of the old API. */
export function old(address: string): OldSocket {
  const push: OldSocket = socket("push", { linger: 0 })
  push.connect(address).send("a", ZMQ_SNDMORE).send(Buffer.from("b"))
  return compat.createSocket("pull").on("message", (part: Buffer) => console.log(part.toString()))
}

/** Compiled, not run: the sockets in a user's program. */
export async function consume(address: string): Promise<Traffic> {
  const options: EndpointOptions = { level: 9, arenas: true }
  const push: zmq.Push = new Push({ linger: 0 })
  push.connect(address, options)
  await push.send(["a", Buffer.from("b")])
  const pull = new zmq.Pull({ maxMessageSize: 1 << 20 })
  await pull.bind(address)
  for await (const [part] of pull) {
    const message: zmq.Message = part
    console.log(message.toString(), push instanceof zmq.Push)
  }
  const router: zmq.Router = new Router({ mandatory: true })
  router.connect(address, { routingId: "peer", level: 9 })
  router.connect(address, { routingId: "peer" })
  router.connect(address, options)
  router.connect("lz4+tcp://127.0.0.1:1", options)
  const client: Client = new Client()
  client.lz4.on("protocolError", ({ error }) => console.log(error.code))
  const same: zmq.Lz4 = client.lz4
  return same.stats.sent
}

// @ts-expect-error: only a Router gives its peers ids
new Push().connect("lz4+tcp://127.0.0.1:1", { routingId: "peer" })
// @ts-expect-error: there is no such level
new Router().connect("lz4+tcp://127.0.0.1:1", { routingId: "peer", level: 13 })
// @ts-expect-error: the option is for lz4+tcp://
new Push().connect("tcp://127.0.0.1:1", { level: 3 })
// @ts-expect-error: the option is for lz4+tcp://
new Router().connect("tcp://127.0.0.1:1", { routingId: "peer", level: 3 })
// @ts-expect-error: the option is for lz4+tcp://
new Push().bind("ipc:///tmp/x", { level: 3 })
new Router().connect("tcp://127.0.0.1:1", { routingId: "peer" })
// @ts-expect-error: there is no such level
new Push().connect("lz4+tcp://127.0.0.1:1", { level: 13 })
