/** Floods of CURVE's HELLO, each of which costs a server more than anything else that a stranger can send. */
import { describe, expect, test } from "vitest"
import * as zmq from "zeromq"
import { Request } from "zeromq-lz4"
import { parseKey } from "../../src/curve/keys.js"
import { Session } from "../../src/zmtp/session.js"
import { curveSettings } from "../support/curve.js"
import { expectAtMost } from "../support/measured.js"
import { Script } from "../support/running-script.js"
import { sleep } from "../support/sleep.js"
import { use } from "../support/sockets.js"
import { concat } from "../support/wire.js"
import { greeting } from "../support/zmtp.js"

const serverKeys = zmq.curveKeyPair()
const clientKeys = zmq.curveKeyPair()

/** A process with a server, and a REP that tells how late its timers have been. */
const VICTIM = `
  const keys = { curveServer: true, curveSecretKey: argument.secretKey }
  const pull = new zmq.Pull({ ...keys, handshakeInterval: 0, backlog: 4096 })
  const control = new zmq.Reply(keys)
  for (const one of [pull, control]) await one.bind("lz4+tcp://127.0.0.1:*", argument.options)
  console.log(JSON.stringify([pull.lastEndpoint, control.lastEndpoint]))
  let late = []
  const watch = (due) => setTimeout(() => {
    late.push(performance.now() - due)
    watch(performance.now() + 5)
  }, 5)
  watch(performance.now() + 5)
  for await (const _ of control) {
    late.sort((a, b) => a - b)
    const p99 = late[Math.floor(0.99 * late.length)] ?? 0
    await control.send(JSON.stringify({ timers: late.length, p99, max: late.at(-1) ?? 0 }))
  }`

/** A process that dials, sends HELLO, and stops when it has WELCOME. */
const FLOOD = `
  const { connect } = await import("node:net")
  const opening = Buffer.from(argument.opening, "base64")
  let sent = 0
  let welcomes = 0
  let open = 0
  const start = performance.now()
  const dial = () => {
    sent++
    const socket = connect(argument.port, "127.0.0.1", () => socket.write(opening))
    open++
    let bytes = 0
    socket.on("error", () => {}).on("close", () => { open-- })
    socket.on("data", ({ length }) => {
      if (bytes < argument.answer && bytes + length >= argument.answer) welcomes++
      bytes += length
    })
  }
  const timer = setInterval(() => {
    const due = Math.min(argument.count, argument.rate * (performance.now() - start) / 1000)
    while (sent < due) dial()
    if (welcomes < argument.count || open > argument.most) return
    clearInterval(timer)
    console.log(JSON.stringify({ seconds: (performance.now() - start) / 1000, open }))
  }, 1)`

const RATE = 1000
const COUNT = 6000
/** The handshakes of an endpoint at a time. */
const HANDSHAKES_MAX = 4096
/** The greeting and WELCOME. */
const ANSWER_BYTES = 64 + 170

/** Returns a greeting and a HELLO. Anybody who has seen it can repeat it. */
function opening(): Uint8Array {
  const sent: Uint8Array[] = []
  const keys = {
    publicKey: parseKey("curvePublicKey", clientKeys.publicKey),
    secretKey: parseKey("curveSecretKey", clientKeys.secretKey),
    serverKey: parseKey("curveServerKey", serverKeys.publicKey),
  }
  const session = new Session(curveSettings(keys, { socketType: "PUSH" }), {
    send: (bytes) => sent.push(bytes),
    onEvent: () => {},
    message: () => true,
    command: () => true,
  })
  session.start()
  session.greet(greeting({ mechanism: "CURVE" }))
  session.close()
  return concat(...sent)
}

interface State {
  timers: number
  p99: number
  max: number
}

/** Milliseconds. */
const TIMER_LATE_MAX = 50
const ANSWER_MAX = 200

describe.each([{ thread: false }, { thread: true }])("with %o", (options) => {
  test("timers and other connections go on beside 1,000 HELLOs a second, and handshakes are limited", async () => {
    const victim = new Script(VICTIM, { secretKey: serverKeys.secretKey, options })
    const [endpoint, control] = JSON.parse(await victim.line()) as [string, string]
    const client = () => {
      const request = use(
        new Request({
          curvePublicKey: clientKeys.publicKey,
          curveSecretKey: clientKeys.secretKey,
          curveServerKey: serverKeys.publicKey,
        }),
      )
      request.connect(control)
      return request
    }
    const state = async (request: Request): Promise<State> => {
      await request.send("")
      return JSON.parse(String((await request.receive())[0]))
    }
    const request = client()
    await state(request)
    const flood = new Script(FLOOD, {
      port: Number(endpoint.split(":").at(-1)),
      opening: Buffer.from(opening()).toString("base64"),
      rate: RATE,
      count: COUNT,
      answer: ANSWER_BYTES,
      most: HANDSHAKES_MAX,
    })
    let isOver = false
    const ended = flood.line().then((line) => {
      isOver = true
      return JSON.parse(line) as { seconds: number; open: number }
    })
    const answers: number[] = []
    while (!isOver) {
      await sleep(5)
      const before = performance.now()
      // Every tenth question is from a client that comes now.
      const asking = answers.length % 10 === 9 ? client() : request
      await state(asking)
      if (asking !== request) asking.close()
      answers.push(performance.now() - before)
    }
    const { seconds, open } = await ended
    const { timers, p99, max } = await state(request)
    answers.sort((a, b) => a - b)
    const slow = answers[Math.floor(0.99 * answers.length)] as number
    console.log(
      `${(COUNT / seconds).toFixed(0)} HELLOs a second, ${timers} timers, latest ${max.toFixed(1)} ms, ${answers.length} answers`,
    )
    expectAtMost(TIMER_LATE_MAX, "timers late (p99)", p99, "ms")
    expectAtMost(ANSWER_MAX, "a question and its answer (p99)", slow, "ms")
    // The oldest have made room for those that came later.
    expect(open).toBe(HANDSHAKES_MAX)
    expect(answers.length).toBeGreaterThan(10)
  })
})
