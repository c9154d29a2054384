/** Records the sample capture in the inspector. */
import { spawn } from "node:child_process"
import { once } from "node:events"
import { statSync } from "node:fs"
import { connect } from "node:net"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import * as zmq from "zeromq-lz4"
import { readArgs } from "./lib/args.mjs"
import { onPath } from "./lib/files.mjs"
import * as paths from "./lib/paths.mjs"
import { fail } from "./lib/run.mjs"

const MAX_BYTES = 30_000

readArgs(
  `usage: node scripts/sample-capture.mjs

Records src/inspector/sample.pcap with tcpdump, which may need root: a few seconds of messages of an
online shop between sockets of dist/: with a dictionary, arenas, zstd+tcp:// and a peer that breaks the
rules. Fails above ${MAX_BYTES} bytes.`,
  {},
)
if (!onPath("tcpdump")) fail("tcpdump is not on PATH: apt-get install tcpdump")

const PORTS = { orders: 5555, prices: 5556, stock: 5557, reports: 5558 }
const file = join(paths.root, "src/inspector/sample.pcap")

/** @param {number} port */
const endpoint = (port, scheme = "lz4+tcp") => `${scheme}://127.0.0.1:${port}`

const dictionary = Buffer.from(
  '{"event":"order.created","order":,"customer":{"id":,"name":"","country":"","vip":false},"lines":[{"sku":"TEA-","title":"","quantity":1,"price":},{"sku":"SUGAR-","title":"Brown sugar","quantity":2,"price":2.4}],"total":,"currency":"EUR"}',
)
const TEAS = ["Earl Grey", "Darjeeling", "Assam", "Sencha", "Lapsang Souchong", "Oolong"]
const NAMES = ["Ada", "Grace", "Edsger", "Barbara", "Niklaus", "Radia", "Донна", "明子"]
const COUNTRIES = ["DE", "FR", "JP", "UA", "GB"]

/** @param {number} n */
const order = (n) => ({
  event: "order.created",
  order: 10_000 + n,
  customer: {
    id: (n * 7919) % 1000,
    name: NAMES[n % NAMES.length],
    country: COUNTRIES[n % COUNTRIES.length],
    vip: n % 5 === 0,
  },
  lines: Array.from({ length: 1 + (n % 3) }, (_, i) => ({
    sku: `TEA-${(n * 31 + i * 17) % 100}`,
    title: TEAS[(n + i) % TEAS.length],
    quantity: 1 + ((n + i) % 4),
    price: 4.5 + ((n * 13) % 50) / 10,
  })),
  total: 12.5 + ((n * 37) % 400) / 10,
  currency: "EUR",
})

// Orders in one direction, with a dictionary; those in a burst share arenas.
async function orders() {
  const pull = new zmq.Pull()
  const push = new zmq.Push()
  await pull.bind(endpoint(PORTS.orders))
  push.connect(endpoint(PORTS.orders), { dictionary })
  const receive = async (/** @type {number} */ count) => {
    for (let i = 0; i < count; i++) await pull.receive()
  }
  for (let n = 0; n < 16; n++) {
    await push.send(JSON.stringify(order(n)))
    await receive(1)
    await sleep(60 + 40 * Math.sin(n))
  }
  for (let burst = 0; burst < 3; burst++) {
    const numbers = Array.from({ length: 12 }, (_, i) => 16 + burst * 12 + i)
    await Promise.all([
      ...numbers.map((n) => push.send(JSON.stringify(order(n)))),
      receive(numbers.length),
    ])
    await sleep(250)
  }
  push.close()
  await stranger()
  pull.close()
}

/** Acts as a PUSH socket whose second message is damaged: its block decodes to less than declared. */
async function stranger() {
  const socket = connect(PORTS.orders, "127.0.0.1")
  const greeting = Buffer.alloc(64)
  greeting.set([0xff, 0, 0, 0, 0, 0, 0, 0, 1, 0x7f, 3, 1])
  greeting.write("NULL", 12)
  const ready = Buffer.from("\x04\x1a\x05READY\x0bSocket-Type\0\0\0\x04PUSH", "latin1")
  socket.write(Buffer.concat([greeting, ready]))
  // Wait for the greeting and READY: before that libzmq accepts no message.
  let received = 0
  while (received <= greeting.length) received += (await once(socket, "data"))[0].length
  socket.resume()
  socket.write(Buffer.from("\0\x10\0\0\0\0good day ...", "latin1"))
  socket.write(Buffer.from("\0\x14LZ4B\x40\0\0\0\0\0\0\0\xf0\x20too sh", "latin1"))
  await once(socket, "close")
}

// Prices by topic, and a list of all of them.
async function prices() {
  const publisher = new zmq.Publisher()
  const subscriber = new zmq.Subscriber()
  await publisher.bind(endpoint(PORTS.prices))
  subscriber.connect(endpoint(PORTS.prices))
  subscriber.subscribe("price.tea", "catalogue")
  await sleep(150)
  for (let n = 0; n < 20; n++) {
    const tea = TEAS[n % TEAS.length]
    await publisher.send(["price.tea", JSON.stringify({ tea, eur: 4 + (n % 7) / 2 })])
    await subscriber.receive()
    await sleep(90)
  }
  const catalogue = Array.from({ length: 120 }, (_, i) => ({
    sku: `TEA-${i}`,
    title: TEAS[i % TEAS.length],
    stock: (i * 37) % 500,
  }))
  await publisher.send(["catalogue", JSON.stringify(catalogue)])
  await subscriber.receive()
  publisher.close()
  subscriber.close()
}

// Requests and replies; one reply is binary.
async function stock() {
  const reply = new zmq.Reply()
  const request = new zmq.Request()
  await reply.bind(endpoint(PORTS.stock))
  request.connect(endpoint(PORTS.stock))
  for (let n = 0; n < 10; n++) {
    const sku = `TEA-${n * 7}`
    await request.send(JSON.stringify({ question: "stock", sku }))
    await reply.receive()
    const picture = Buffer.from(Array.from({ length: 300 }, (_, i) => (i * i) >> 3))
    const answer = JSON.stringify({ sku, stock: (n * 37) % 90, warehouse: "Hamburg" })
    await reply.send(n === 6 ? [answer, picture] : answer)
    await request.receive()
    await sleep(170)
  }
  request.close()
  reply.close()
}

// Reports over zstd+tcp://: a long one for each hour, and lines of a journal that share arenas.
async function reports() {
  const pull = new zmq.Pull()
  const push = new zmq.Push()
  await pull.bind(endpoint(PORTS.reports, "zstd+tcp"))
  push.connect(endpoint(PORTS.reports, "zstd+tcp"), { level: 3 })
  for (let hour = 9; hour < 12; hour++) {
    const sold = Array.from({ length: 24 }, (_, i) => ({
      tea: TEAS[i % TEAS.length],
      till: 1 + (i >> 3),
      cups: (hour * 17 + i * 5) % 40,
    }))
    await push.send(["report", JSON.stringify({ hour, shop: "Hamburg", sold })])
    await pull.receive()
    await sleep(300)
    const lines = Array.from({ length: 10 }, (_, i) => [
      "journal",
      `${hour}:${10 + i * 5} INFO till ${1 + ((hour + i) % 3)}: sold ${TEAS[i % TEAS.length]} to ${NAMES[(hour + i) % NAMES.length]}, paid in EUR`,
    ])
    await Promise.all(lines.map((line) => push.send(line)))
    for (const _ of lines) await pull.receive()
    await sleep(300)
  }
  push.close()
  pull.close()
}

const ports = Object.values(PORTS).map((port) => `port ${port}`)
// Omits packets that only acknowledge.
const carries =
  "(tcp[tcpflags] & (tcp-syn|tcp-fin|tcp-rst) != 0 or ip[2:2] - ((ip[0] & 0xf) << 2) - ((tcp[12] & 0xf0) >> 2) != 0)"
const tcpdump = spawn(
  "tcpdump",
  [
    ...["-i", "lo", "-w", file, "--immediate-mode", "-U", "-Z", "root", "--nano"],
    `(${ports.join(" or ")}) and ${carries}`,
  ],
  { stdio: ["ignore", "inherit", "pipe"] },
)
let said = ""
while (!said.includes("listening on")) said += (await once(tcpdump.stderr, "data"))[0]

try {
  // The connections begin in this order.
  const running = []
  for (const work of [orders, prices, stock, reports]) {
    running.push(work())
    await sleep(50)
  }
  await Promise.all(running)
  await sleep(300)
} finally {
  tcpdump.kill("SIGINT")
  await once(tcpdump, "exit")
}

const { size } = statSync(file)
console.log(`${paths.shown(file)}: ${size} bytes`)
if (size > MAX_BYTES) fail(`more than ${MAX_BYTES} bytes`)
