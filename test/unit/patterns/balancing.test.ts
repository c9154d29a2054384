/** Load balancing and fair queueing (libzmq's lb.cpp and fq.cpp). */
import fc from "fast-check"
import { describe, expect, test } from "vitest"

import { FairQueue } from "../../../src/patterns/fair-queue.js"
import { LoadBalancer } from "../../../src/patterns/load-balancer.js"
import type { Pipe, PipeEvents, PipeOptions } from "../../../src/patterns/pipe.js"
import { Peer, parts, textOf } from "../../support/pipes.js"

/** Passes events of pipes to their owner. */
const eventsFor = (
  users: { activated(pipe: Pipe): void; terminated(pipe: Pipe): void },
  of: "in" | "out",
): PipeEvents => ({
  violation: undefined,
  readActivated: (pipe) => of === "in" && users.activated(pipe),
  writeActivated: (pipe) => of === "out" && users.activated(pipe),
  command: () => true,
  hiccuped: () => {},
  terminated: (pipe) => users.terminated(pipe),
})

class Balanced {
  readonly lb = new LoadBalancer()
  readonly names = new Map<Pipe, string>()
  readonly peers: Peer[] = []

  add(name: string, options: Partial<PipeOptions> = {}): Peer {
    const peer = new Peer(eventsFor(this.lb, "out"), options)
    this.names.set(peer.pipe, name)
    this.peers.push(peer)
    this.lb.attach(peer.pipe)
    return peer
  }

  /** Returns the receivers of messages, in order; "-" means none. */
  send(times: number): string {
    return Array.from({ length: times }, () => {
      const pipe = this.lb.send(parts("x".repeat(9000)))
      return pipe ? this.names.get(pipe) : "-"
    }).join("")
  }
}

describe("load balancing", () => {
  test("sends to its peers in turn", () => {
    const balanced = new Balanced()
    expect(balanced.send(1)).toBe("-")
    for (const name of "abc") balanced.add(name)
    expect(balanced.send(7)).toBe("abcabca")
  })

  test("includes a new peer from the next round on", () => {
    const balanced = new Balanced()
    for (const name of "ab") balanced.add(name)
    expect(balanced.send(1)).toBe("a")
    balanced.add("c")
    expect(balanced.send(4)).toBe("bcab")
  })

  test("skips a full peer, and includes it again when there is room", () => {
    const balanced = new Balanced()
    balanced.add("a")
    const b = balanced.add("b", { sendHighWaterMark: 2 })
    balanced.add("c")
    expect(balanced.send(8)).toBe("abcabcac")
    b.attach() // all queued messages are written
    b.connection.room = 0
    expect([...balanced.send(6)].sort().join("")).toBe("aabbcc")
  })

  test("sends to no peer if all are full", () => {
    const balanced = new Balanced()
    for (const name of "ab") balanced.add(name, { sendHighWaterMark: 2 })
    expect(balanced.lb.hasOut()).toBe(true)
    expect(balanced.send(6)).toBe("abab--")
    expect(balanced.lb.hasOut()).toBe(false)
    balanced.peers[1]?.attach()
    expect(balanced.lb.hasOut()).toBe(true)
    expect(balanced.send(1)).toBe("b")
  })

  test.each([
    ["a", "bcbc"],
    ["b", "acac"],
    ["c", "abab"],
  ])("continues with the others after %s is gone", (gone, then) => {
    const balanced = new Balanced()
    for (const name of "abc") balanced.add(name)
    expect(balanced.send(3)).toBe("abc")
    balanced.peers["abc".indexOf(gone)]?.pipe.close()
    const next = balanced.send(4)
    expect([...next].sort()).toEqual([...then].sort())
    expect(next.slice(0, 2)).toBe(next.slice(2))
  })

  test("is even and loses nothing, while peers come, go, fill and drain", () => {
    const action = fc.tuple(fc.constantFrom("send", "come", "go", "drain"), fc.nat(7))
    fc.assert(
      fc.property(fc.array(action, { maxLength: 80 }), (actions) => {
        const balanced = new Balanced()
        const waiting = new Map<Peer, number>()
        for (const [what, which] of actions) {
          const peers = [...waiting.keys()]
          const peer = peers[which % Math.max(1, peers.length)]
          if (what === "come") waiting.set(balanced.add(`${which}`, { sendHighWaterMark: 2 }), 0)
          else if (what === "send") {
            const room = [...waiting.values()].some((count) => count < 2)
            expect(balanced.lb.hasOut()).toBe(room)
            const pipe = balanced.lb.send(parts("x"))
            expect(pipe !== undefined).toBe(room)
            const to = peers.find((one) => one.pipe === pipe)
            if (to) waiting.set(to, (waiting.get(to) as number) + 1)
          } else if (peer && what === "go") {
            peer.pipe.close()
            waiting.delete(peer)
          } else if (peer) {
            peer.attach()
            expect(peer.connection.take().length).toBe(waiting.get(peer))
            peer.pipe.detach([])
            waiting.set(peer, 0)
          }
        }
      }),
    )
  })
})

class Queued {
  readonly fq = new FairQueue()
  readonly peers: Peer[] = []

  add(): Peer {
    const peer = new Peer(eventsFor(this.fq, "in")).attach()
    this.peers.push(peer)
    this.fq.attach(peer.pipe)
    return peer
  }

  receive(times: number): string {
    return Array.from({ length: times }, () => {
      const message = this.fq.receive()
      return message ? textOf(message as Buffer[]) : "-"
    }).join(" ")
  }
}

describe("fair queueing", () => {
  test("receives one message from each peer in turn", () => {
    const queued = new Queued()
    expect(queued.receive(1)).toBe("-")
    const [a, b, c] = [queued.add(), queued.add(), queued.add()]
    for (const text of ["a1", "a2", "a3", "a4"]) a.says(text)
    for (const text of ["b1", "b2"]) b.says(text)
    c.says("c1")
    expect(queued.receive(8)).toBe("a1 b1 c1 a2 b2 a3 a4 -")
  })

  test("includes a silent peer again when it sends", () => {
    const queued = new Queued()
    const [a, b] = [queued.add(), queued.add()]
    a.says("a1")
    expect(queued.receive(2)).toBe("a1 -")
    expect(queued.fq.hasIn()).toBe(false)
    b.says("b1")
    b.says("b2")
    a.says("a2")
    expect(queued.fq.hasIn()).toBe(true)
    expect(queued.receive(4).split(" ").sort()).toEqual(["-", "a2", "b1", "b2"])
  })

  test("knows the sender of a message", () => {
    const queued = new Queued()
    const peers = [queued.add(), queued.add()]
    for (const [i, peer] of peers.entries()) peer.says(`${i}`)
    for (let i = 0; i < 2; i++) {
      const message = queued.fq.receive()
      expect(peers[Number(message)]?.pipe).toBe(queued.fq.from)
    }
  })

  test("keeps the order of each peer and starves none, while messages arrive and peers go", () => {
    const action = fc.tuple(
      fc.constantFrom("say", "say", "receive", "come", "go", "look"),
      fc.nat(5),
    )
    fc.assert(
      fc.property(fc.array(action, { maxLength: 100 }), (actions) => {
        const queued = new Queued()
        const waiting = new Map<Peer, string[]>()
        let said = 0
        for (const [what, which] of actions) {
          const peers = [...waiting.keys()]
          const peer = peers[which % Math.max(1, peers.length)]
          if (what === "come") waiting.set(queued.add(), [])
          else if (what === "say" && peer) {
            peer.says(`${said}`)
            waiting.get(peer)?.push(`${said++}`)
          } else if (what === "go" && peer && waiting.get(peer)?.length === 0) {
            peer.pipe.close()
            waiting.delete(peer)
          } else if (what === "look") {
            expect(queued.fq.hasIn()).toBe([...waiting.values()].some(({ length }) => length > 0))
          } else if (what === "receive") {
            // A round receives one message from each peer before a second from any.
            const speaking = peers.filter((one) => waiting.get(one)?.length)
            const from = new Set<Pipe | undefined>()
            for (let i = 0; i < speaking.length; i++) {
              const message = String(queued.fq.receive())
              const who = peers.find((one) => one.pipe === queued.fq.from) as Peer
              expect(message).toBe(waiting.get(who)?.shift())
              from.add(who.pipe)
            }
            expect(from.size).toBe(speaking.length)
          }
        }
      }),
    )
  })
})
