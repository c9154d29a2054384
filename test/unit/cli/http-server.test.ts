/** Which connections of a command's HTTP server make room for others. */
import { once } from "node:events"
import type { ServerResponse } from "node:http"
import { connect, type Socket } from "node:net"
import { expect, onTestFinished, test } from "vitest"

import { serveHttp } from "../../../src/cli/http-server.js"
import { eventually } from "../../support/sockets.js"

const GET = "GET / HTTP/1.1\r\nhost: x\r\n\r\n"

/** A client, and what it has received. */
interface Client {
  socket: Socket
  received: string
  ended: boolean
}

/** A server that answers "hello" at once, unless it is told to wait. */
async function started(maxConnections: number) {
  const waiting: ServerResponse[] = []
  const server = await serveHttp(
    { host: "127.0.0.1", port: 0, name: "x" },
    maxConnections,
    ({ url }, response) => {
      if (url === "/later") waiting.push(response)
      else response.end("hello")
    },
  )
  onTestFinished(() => server.close())
  const client = async (sent = ""): Promise<Client> => {
    const socket = connect(Number(new URL(server.url).port), "127.0.0.1")
    onTestFinished(() => void socket.destroy())
    const made: Client = { socket, received: "", ended: false }
    socket.on("data", (chunk) => {
      made.received += chunk
    })
    socket.on("error", () => {}) // "close" follows
    socket.on("close", () => {
      made.ended = true
    })
    if (sent !== "") socket.write(sent)
    await once(socket, "connect")
    return made
  }
  const isAnswered = (one: Client) => eventually(() => one.received.endsWith("hello"))
  return { waiting, client, isAnswered }
}

test("the oldest connection without a whole request makes room, then the one that is idle for longest", async () => {
  const { client, isAnswered } = await started(4)
  const idle = [await client(GET), await client(GET)]
  for (const one of idle) await isAnswered(one)
  const [first, second] = [await client("G"), await client()]
  const all = [...idle, first, second]
  const ended = () => all.map((one) => one.ended)

  await isAnswered(await client(GET))
  await eventually(() => first.ended)
  expect(ended()).toEqual([false, false, true, false])
  await isAnswered(await client(GET))
  await eventually(() => second.ended)
  expect(ended()).toEqual([false, false, true, true])

  // The first one asks again, so the second has been idle for longer.
  const [asking, idler] = idle as [Client, Client]
  asking.received = ""
  asking.socket.write(GET)
  await isAnswered(asking)
  await isAnswered(await client(GET))
  await eventually(() => idler.ended)
  expect(asking.ended).toBe(false)
})

test("no connection that is being answered makes room", async () => {
  const { waiting, client, isAnswered } = await started(2)
  const LATER = GET.replace("/", "/later")
  const asking = [await client(LATER), await client(LATER)]
  await eventually(() => waiting.length === 2)
  const refused = await client()
  await eventually(() => refused.ended)
  expect(asking.some(({ ended }) => ended)).toBe(false)
  for (const response of waiting) response.end("hello")
  for (const one of asking) await isAnswered(one)
  await isAnswered(await client(GET))
})

test("as many as come at once are read before one of them has to go", async () => {
  const { client, isAnswered } = await started(2)
  const asking = await Promise.all(Array.from({ length: 50 }, () => client(GET)))
  for (const one of asking) await isAnswered(one)
})

test("a connection that asks again before it was answered is closed", async () => {
  const { waiting, client, isAnswered } = await started(2)
  const pipelining = await client(GET.repeat(3000))
  await eventually(() => pipelining.ended)
  const impatient = await client(GET.replace("/", "/later"))
  await eventually(() => waiting.length === 1)
  impatient.socket.write(GET)
  await eventually(() => impatient.ended)
  await isAnswered(await client(GET))
})
