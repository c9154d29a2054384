/** Pipes' counts of queued messages, and of messages dropped because a pipe was full. */
import fc from "fast-check"
import { describe, expect, test } from "vitest"

import { Batch } from "../../../src/patterns/batch.js"
import { Pub } from "../../../src/patterns/pub.js"
import { Rep } from "../../../src/patterns/rep.js"
import { Router } from "../../../src/patterns/router.js"
import { XPub } from "../../../src/patterns/xpub.js"
import { XSub } from "../../../src/patterns/xsub.js"
import type { OpenMemory } from "../../../src/transport/transport.js"
import { Bench, burst, Peer, parts, silent } from "../../support/pipes.js"

const subscribe = (peer: Peer, ...topics: string[]) => {
  for (const topic of topics) peer.pipe.command("SUBSCRIBE", Buffer.from(topic))
}
const waiting = ({ pipe }: Peer) => pipe.out.waiting.messages

describe("a pipe", () => {
  test("counts messages queued for a connection, in batches and separately", () => {
    const { pipe, connection } = new Peer(silent)
    expect(pipe.out.waiting).toEqual({ messages: 0, bytes: 0 })
    for (const text of ["a", "b|c", "x".repeat(20_000)]) pipe.out.write(parts(text))
    expect(pipe.out.waiting.messages).toBe(3)
    expect(pipe.out.waiting.bytes).toBeGreaterThan(20_000)
    pipe.attach(connection)
    expect(pipe.out.waiting).toEqual({ messages: 0, bytes: 0 })
  })

  test("does not count commands", () => {
    const { pipe } = new Peer(silent)
    pipe.out.writeCommand("SUBSCRIBE", Buffer.from("topic"), true)
    expect(pipe.out.waiting).toEqual({ messages: 0, bytes: 0 })
  })

  test("counts messages that its connection has written and the system has not accepted", () => {
    const { pipe, connection } = new Peer(silent).attach()
    connection.waiting = { messages: 2, bytes: 100 }
    connection.room = 0
    pipe.out.write(parts("one more"))
    expect(pipe.out.waiting.messages).toBe(3)
  })

  test("counts messages that were not written when the connection was lost", async () => {
    const { pipe, connection } = new Peer(silent).attach()
    pipe.out.write(parts("a"))
    await burst()
    pipe.detach(connection.chunks)
    expect(pipe.out.waiting.messages).toBe(1)
  })

  test("a pipe that is gone has no queued messages", () => {
    const { pipe } = new Peer(silent)
    pipe.out.write(parts("a"))
    pipe.close()
    expect(pipe.out.waiting).toEqual({ messages: 0, bytes: 0 })
  })
})

test("a batch counts messages that another thread has not taken", () => {
  let flushed = 0
  const memory: OpenMemory = {
    bytes: Buffer.alloc(65_536),
    publish: () => {},
    get flushed() {
      return flushed
    },
    seal: () => flushed,
    close: () => {},
  }
  const batch = new Batch(0, undefined, memory)
  for (const text of ["first", "sec|ond"]) batch.append(parts(text), 100)
  flushed = batch.length
  batch.append(parts("th|i|rd"), 100)
  expect(batch.waiting).toEqual({ messages: 1, bytes: batch.length - flushed })
})

describe("a publisher", () => {
  const published = (options: ConstructorParameters<typeof Bench>[1] = {}) => {
    const pub = new Bench(XPub, options)
    const [full, free] = [pub.peer({ sendHighWaterMark: 2 }), pub.peer()]
    full.connection.room = 0
    return { pub, full, free }
  }

  test("counts dropped messages for each peer, once even if several topics match", () => {
    const { pub, full, free } = published()
    subscribe(full, "a", "ab", "")
    subscribe(free, "a")
    for (let i = 0; i < 10; i++) pub.send("abc")
    expect([waiting(full), full.pipe.out.dropped]).toEqual([2, 8])
    expect(free.pipe.out.dropped).toBe(0)
  })

  test("counts only messages that the peer has subscribed to", () => {
    const { pub, full, free } = published()
    subscribe(full, "a")
    subscribe(free, "")
    for (const text of ["a", "a", "a", "b", "b", "a"]) pub.send(text)
    expect([waiting(full), full.pipe.out.dropped]).toEqual([2, 2])
  })

  test("a publisher with invertMatching counts messages that do not match", () => {
    const { pub, full, free } = published({ invertMatching: true })
    subscribe(full, "b")
    subscribe(free, "b")
    for (const text of ["a", "a", "a", "b", "b", "a"]) pub.send(text)
    expect([waiting(full), full.pipe.out.dropped]).toEqual([2, 2])
  })

  test("a publisher that waits for room drops nothing", () => {
    const { pub, full } = published({ noDrop: true })
    subscribe(full, "")
    for (let i = 0; i < 10; i++) pub.send("a")
    expect([waiting(full), full.pipe.out.dropped]).toEqual([2, 0])
  })

  test("stops counting when there is room again", async () => {
    const { pub, full } = published()
    subscribe(full, "")
    for (let i = 0; i < 5; i++) pub.send("a")
    full.connection.drain()
    await burst()
    pub.send("a")
    expect(full.pipe.out.dropped).toBe(3)
  })

  test("has written, queued or dropped each matching message, whatever happens", async () => {
    const topics = ["", "a", "ab", "b"]
    const peer = fc.nat(2)
    const step = fc.oneof(
      fc.record({ send: fc.constantFrom("a", "abc", "b", "c", "a".padEnd(9000, ".")) }),
      fc.record({ drain: peer, room: fc.nat(2) }),
      fc.record({ end: fc.constant(true) }),
    )
    const run = fc.record({
      invertMatching: fc.boolean(),
      subscriptions: fc.array(fc.subarray(topics), { minLength: 3, maxLength: 3 }),
      steps: fc.array(step, { maxLength: 40 }),
    })
    await fc.assert(
      fc.asyncProperty(run, async ({ invertMatching, subscriptions, steps }) => {
        const pub = new Bench(Pub, { invertMatching })
        const peers = subscriptions.map((of) => {
          const one = pub.peer({ sendHighWaterMark: 2 })
          subscribe(one, ...of)
          return { one, of, matched: 0 }
        })
        for (const step of steps) {
          if ("send" in step) {
            pub.send(step.send)
            for (const peer of peers)
              if (peer.of.some((topic) => step.send.startsWith(topic)) !== invertMatching)
                peer.matched++
          } else if ("drain" in step) peers[step.drain]?.one.connection.drain(step.room)
          else await burst()
        }
        for (const { one, matched } of peers)
          expect(one.connection.written.length + waiting(one) + one.pipe.out.dropped).toBe(matched)
      }),
    )
  })
})

test("an XSUB counts messages that a full peer does not receive", () => {
  const xsub = new Bench(XSub)
  const peer = xsub.peer({ sendHighWaterMark: 2 })
  peer.connection.room = 0
  for (let i = 0; i < 5; i++) xsub.send("text")
  expect([waiting(peer), peer.pipe.out.dropped]).toEqual([2, 3])
})

test.each([
  [true, 0],
  [false, 3],
])("a ROUTER that is mandatory: %s counts messages to a full peer: %i", (mandatory, dropped) => {
  const router = new Bench(Router, { mandatory })
  const peer = router.peer({ sendHighWaterMark: 2 }, "peer")
  peer.connection.room = 0
  for (let i = 0; i < 5; i++) router.send("peer|text")
  expect([waiting(peer), peer.pipe.out.dropped]).toEqual([2, dropped])
})

test("a REP counts replies to a full peer", () => {
  const rep = new Bench(Rep)
  const peer = rep.peer({ sendHighWaterMark: 2 }, "peer")
  peer.connection.room = 0
  for (let i = 0; i < 5; i++) {
    peer.says("|question")
    rep.type.receive()
    rep.send("reply")
  }
  expect([waiting(peer), peer.pipe.out.dropped]).toEqual([2, 3])
})
