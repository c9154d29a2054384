/** Receives the examples of RFC.md with sockets: what is delivered, and how a connection is closed. */
import { once } from "node:events"
import { describe, expect, test } from "vitest"
import { Pull, Request, XPublisher } from "zeromq-lz4"

import { type RawPeer, rawPeer } from "../support/raw-peer.js"
import { deliveredIn, type Example, isReceived, named, streamOf } from "../support/rfc.js"
import { use } from "../support/sockets.js"
import { ANY, plain, threaded } from "../support/threads.js"
import { concat, plainPart } from "../support/wire.js"
import { greeting as greetingOf, message, parseStream } from "../support/zmtp.js"

/** A message that fits every budget, and is a reply. */
const END = message(plainPart(new Uint8Array()), plainPart(new Uint8Array()))

const shown = (parts: readonly unknown[]): string =>
  parts.length > 100
    ? `${parts.length} parts`
    : parts.map((part) => Buffer.from(part as Uint8Array).toString("hex")).join(" | ")

type Receiver = Pull | Request | XPublisher

function open({ socket, budget }: Example): Receiver {
  const options = budget === undefined ? {} : { maxMessageSize: budget }
  if (socket === "REQ") return use(new Request(options))
  return use(socket === "XPUB" ? new XPublisher(options) : new Pull(options))
}

/** Returns a function that waits for the frames that the peer has received after READY. */
function answersTo(peer: RawPeer): (count: number) => Promise<string[]> {
  let received = Buffer.alloc(0)
  peer.socket.on("data", (bytes: Buffer) => {
    received = Buffer.concat([received, bytes])
  })
  return async (count) => {
    for (;;) {
      const frames = parseStream(received).frames.slice(1)
      if (frames.length >= count) return frames.map(({ body }) => shown([body]))
      await once(peer.socket, "data")
    }
  }
}

describe.each([
  ["without a thread", plain],
  ["with a thread", threaded],
])("%s", (_, options) => {
  const received = named((example) => isReceived(example) || example.greeting !== undefined)

  test.each(received)("%s", async (_, example) => {
    const { error, greeting, socket, answers } = example
    const receiver = open(example)
    await receiver.bind(ANY, options)
    const refused = error ? once(receiver.lz4, "protocolError") : undefined
    const stream = greeting ?? concat(greetingOf(), streamOf(example))
    const peer = use(await rawPeer(receiver.lastEndpoint as string, new Uint8Array()))
    const answered = answersTo(peer)
    if (socket === "REQ") {
      // Its request needs a peer, which has to be there before the reply.
      peer.socket.write(stream.subarray(0, greetingOf().length))
      const ready = streamOf({ ...example, frames: new Uint8Array() })
      peer.socket.write(ready)
      await (receiver as Request).send("request")
      peer.socket.write(stream.subarray(greetingOf().length + ready.length))
    } else peer.socket.write(stream)
    for (const parts of deliveredIn(example)) {
      const expected = socket === "REQ" ? parts.slice(1) : parts
      expect(shown(await (receiver as Pull).receive())).toBe(shown(expected))
    }
    if (refused) {
      const [event] = await refused
      expect(event.error.code).toBe(error)
      await peer.closed
      return
    }
    if (answers.length > 0)
      expect(await answered(answers.length)).toEqual(answers.map((one) => shown([one])))
    if (greeting || socket === "REQ") return
    peer.socket.write(END)
    expect(shown(await (receiver as Pull).receive())).toBe(" | ")
  })
})
