/**
 * One side of an exchange, in any runtime, controlled by environment variables. It ends by itself, with
 * open sockets, so its messages have to arrive anyway. After a mismatch it exits with 1.
 */
import assert from "node:assert"
import * as zmq from "zeromq-lz4"

const COUNT = 500

const { role, binds, endpoint, dictionary } = JSON.parse(process.env.EXCHANGE ?? "")
const options = dictionary ? [{ dictionary: Buffer.from(dictionary, "base64") }] : []

/** @type {Record<string, () => Promise<void>>} */
const roles = {
  async push() {
    const push = await open(new zmq.Push())
    for (let i = 0; i < COUNT; i++) await push.send(message(i))
  },
  async pull() {
    const pull = await open(new zmq.Pull())
    for (let i = 0; i < COUNT; i++) check(await pull.receive(), i)
  },
  async request() {
    const request = await open(new zmq.Request())
    for (let i = 0; i < COUNT / 5; i++) {
      await request.send(message(i))
      check(await request.receive(), i + 1)
    }
  },
  async reply() {
    const reply = await open(new zmq.Reply())
    for (let i = 0; i < COUNT / 5; i++) {
      check(await reply.receive(), i)
      await reply.send(message(i + 1))
    }
  },
  async publish() {
    const publisher = await open(new zmq.Publisher())
    let gone = false
    publisher.events.on("disconnect", () => {
      gone = true
    })
    // A PUB does not know its subscribers, so it continues until they have received enough.
    for (let i = 0; !gone; i++) {
      await publisher.send(["other", ...message(i)])
      await publisher.send(["topic", ...message(i)])
      await new Promise((resolve) => setTimeout(resolve, 1))
    }
    publisher.close()
  },
  async subscribe() {
    const subscriber = await open(new zmq.Subscriber())
    subscriber.subscribe("topic")
    const [, first] = await subscriber.receive()
    for (let i = Number(first) + 1; i <= Number(first) + COUNT / 5; i++) {
      const [topic, ...parts] = await subscriber.receive()
      assert.equal(String(topic), "topic")
      check(parts, i)
    }
    subscriber.close()
  },
}
await roles[role]?.()
console.log("done")

/** @template {zmq.Socket & zmq.Lz4Socket} S @param {S} socket */
async function open(socket) {
  if (binds) await socket.bind(endpoint, ...options)
  else socket.connect(endpoint, ...options)
  return socket
}

/** Returns a message of several parts, of which one does not compress. @param {number} i */
function message(i) {
  const event = { i, user: `user-${i % 7}`, items: ["tea", "sugar", "milk"], note: "n".repeat(i) }
  const noise = Uint8Array.from({ length: i % 97 }, (_, at) => (at * 151 + i * 89) ^ (at * at))
  return [String(i), JSON.stringify(event).repeat(1 + (i % 5)), noise, ""]
}

/** @param {Uint8Array[]} parts @param {number} i */
function check(parts, i) {
  assert.deepEqual(
    parts,
    message(i).map((part) => Buffer.from(part)),
  )
}
