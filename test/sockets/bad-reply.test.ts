/** A REQ that connected to a peer whose reply broke a rule connects again (RFC.md section 3.7). */
import { once } from "node:events"
import { createServer, type Socket } from "node:net"
import { describe, expect, test } from "vitest"
import { Request } from "zeromq-lz4"

import { eventually, use } from "../support/sockets.js"
import { plain, text, threaded } from "../support/threads.js"
import { plainPart, SENTINELS } from "../support/wire.js"
import { handshake, message, messagesOf, parseStream } from "../support/zmtp.js"

const reply = (words: string): Uint8Array => message(SENTINELS.plain, plainPart(Buffer.from(words)))
const badReply = message(plainPart(Buffer.from("no delimiter")))

/** Listens as a REP, and answers the first request on each connection with the next of `answers`. */
async function listen(
  ...answers: Uint8Array[][]
): Promise<{ endpoint: string; connections(): number }> {
  let connections = 0
  const server = createServer((peer: Socket) => {
    const answer = answers[connections++]
    let received = Buffer.alloc(0)
    peer.on("error", () => {})
    use({ close: () => peer.destroy() })
    peer.write(handshake("REP"))
    peer.on("data", (bytes: Buffer) => {
      received = Buffer.concat([received, bytes])
      if (messagesOf(parseStream(received).frames).length === 0) return
      received = Buffer.alloc(64)
      for (const frames of answer ?? []) peer.write(frames)
    })
  }).listen(0, "127.0.0.1")
  await once(server, "listening")
  use(server)
  const { port } = server.address() as { port: number }
  return { endpoint: `lz4+tcp://127.0.0.1:${port}`, connections: () => connections }
}

describe.each([
  ["without a thread", plain],
  ["with a thread", threaded],
])("%s", (_, options) => {
  test("after a bad reply, a relaxed Request sends its next request to the new connection", async () => {
    const { endpoint, connections } = await listen([badReply], [reply("good")])
    const request = use(new Request({ relaxed: true, reconnectInterval: 10 }))
    const reported = once(request.lz4, "protocolError")
    request.connect(endpoint, options)
    await request.send("first")
    expect((await reported)[0].error.code).toBe("ERR_ZMTP_MESSAGE")
    await eventually(() => connections() === 2)
    await request.send("second")
    expect(await text(request)).toBe("good")
  })

  test("a bad message behind a reply ends the connection, and the next request goes to the new one", async () => {
    const { endpoint } = await listen([reply("first"), badReply], [reply("second")])
    const request = use(new Request({ reconnectInterval: 10 }))
    const reported = once(request.lz4, "protocolError")
    request.connect(endpoint, options)
    await request.send("?")
    expect(await text(request)).toBe("first")
    await reported
    await request.send("?")
    expect(await text(request)).toBe("second")
  })
})
