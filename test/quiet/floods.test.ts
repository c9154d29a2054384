/** Peers that try to use more than their share of memory and time. */
import { test } from "vitest"
import { Request } from "zeromq-lz4"
import { Codec } from "zeromq-lz4/codec"
import { expectAtMost } from "../support/measured.js"
import { rawZmtpPeer } from "../support/raw-peer.js"
import { Script } from "../support/running-script.js"
import { use } from "../support/sockets.js"
import { message } from "../support/zmtp.js"

const MIB = 2 ** 20
const FLOODS = 4

/** A process with a flooded socket, and a REP that reports its state. */
const VICTIM = `
  const socket = new zmq[argument.type]({ maxMessageSize: 1 << 20 })
  const control = new zmq.Reply()
  for (const one of [socket, control]) await one.bind("lz4+tcp://127.0.0.1:*")
  console.log(JSON.stringify([socket.lastEndpoint, control.lastEndpoint]))
  let mostPerTurn = 0
  let before = 0
  const watch = () => {
    const { plainBytes } = socket.lz4.stats.received
    mostPerTurn = Math.max(mostPerTurn, plainBytes - before)
    before = plainBytes
    setImmediate(watch)
  }
  watch()
  if (argument.receives) (async () => { for (;;) await socket.receive() })()
  for await (const _ of control)
    await control.send(JSON.stringify({ ...socket.lz4.stats.received, mostPerTurn, rss: process.memoryUsage.rss() }))`

interface State {
  messages: number
  plainBytes: number
  /** The maximum plaintext received between two turns of the event loop. */
  mostPerTurn: number
  rss: number
}

async function startVictim(argument: { type: string; receives: boolean }) {
  const [endpoint, control] = JSON.parse(await new Script(VICTIM, argument).line())
  const request = use(new Request())
  request.connect(control)
  const state = async (): Promise<State> => {
    await request.send("")
    return JSON.parse(String((await request.receive())[0]))
  }
  return { endpoint, state }
}

const codec = Codec.createSync()
const BOMBS = 1000
const bombs = Buffer.concat(Array(BOMBS).fill(message(codec.encodePart(Buffer.alloc(MIB, "x")))))

async function throwBombs(endpoint: string, peerType: string): Promise<void> {
  const peers = Array.from({ length: FLOODS }, () => rawZmtpPeer(endpoint, peerType, bombs))
  for (const peer of await Promise.all(peers)) use(peer)
}

/** Number of answers without new messages, after which no more will arrive. */
const QUIET_ANSWERS = 200
/** MiB of memory. The pipe of each peer queues 64; without a limit, the bombs have 4,000. */
const WAITING_MAX = 1500

test.each([
  ["PULL", "Pull", "PUSH"],
  ["XPUB", "XPublisher", "XSUB"],
])(
  "decompression bombs for a %s that does not receive use bounded memory",
  async (_, type, peerType) => {
    const { endpoint, state } = await startVictim({ type, receives: false })
    const before = await state()
    await throwBombs(endpoint, peerType)
    let now = await state()
    for (let quiet = 0; quiet < QUIET_ANSWERS; quiet++) {
      const { messages } = now
      now = await state()
      if (now.messages === 0 || now.messages !== messages) quiet = 0
    }
    expectAtMost(WAITING_MAX, `bombs for a ${type}`, (now.rss - before.rss) / MIB, "MiB")
  },
)

/** MiB of plaintext that take some milliseconds to decode. */
const TURN_MAX = 128

test("while decompression bombs are received, the event loop runs every few milliseconds, with little memory in use", async () => {
  const { endpoint, state } = await startVictim({ type: "Pull", receives: true })
  const before = await state()
  await throwBombs(endpoint, "PUSH")
  let now = before
  let most = 0
  while (now.messages < FLOODS * BOMBS) {
    now = await state()
    most = Math.max(most, now.rss)
  }
  expectAtMost(TURN_MAX, "bombs decoded in a turn of the event loop", now.mostPerTurn / MIB, "MiB")
  expectAtMost(WAITING_MAX, "bombs for a PULL that receives", (most - before.rss) / MIB, "MiB")
})

const ANSWERS = 100
/** MiB of a flood received for each small reply. */
const SHARE_MAX = 60

test("a REQ gets its share of time despite four floods of 64 KiB", async () => {
  const { endpoint, state } = await startVictim({ type: "Pull", receives: true })
  const flood = `
    const push = new zmq.Push({ linger: 0 })
    push.connect(argument)
    const part = Buffer.alloc(1 << 16, "flood and ")
    for (;;) await push.send(part)`
  for (let i = 0; i < FLOODS; i++) new Script(flood, endpoint)
  let before = await state()
  while (before.messages < 1000) before = await state()
  let now = before
  for (let i = 0; i < ANSWERS; i++) now = await state()
  const share = (now.plainBytes - before.plainBytes) / ANSWERS / MIB
  expectAtMost(SHARE_MAX, "a flood, for each answer of a REP", share, "MiB")
})
