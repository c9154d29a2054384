/**
 * Routing ids that a ROUTER assigns. There is no comparison with tcp://: libzmq aborts the process
 * where two of its peers would get the same id.
 */
import { describe, expect, test } from "vitest"
import { Dealer, Router } from "zeromq-lz4"

import { use } from "../support/sockets.js"
import { ANY, plain, threaded } from "../support/threads.js"

/** Returns the id that a counter assigns after `id`. */
function idAfter(id: Buffer, steps: number): Buffer {
  const next = Buffer.from(id)
  next.writeUInt32BE((id.readUInt32BE(1) + steps) >>> 0, 1)
  return next
}

describe.each([
  ["on this thread", plain],
  ["on a thread", threaded],
])("with connections %s", (_, options) => {
  test("peers that choose the ids after an assigned one get no messages of others", async () => {
    const router = use(new Router({ mandatory: true }))
    await router.bind(ANY, options)
    const join = async (name: string, routingId?: Buffer) => {
      // zeromq.js takes bytes as well as text.
      const dealer = use(new Dealer(routingId ? { routingId: routingId as unknown as string } : {}))
      dealer.connect(router.lastEndpoint as string, options)
      await dealer.send(name)
      const [id, text] = (await router.receive()) as [Buffer, Buffer]
      expect(String(text)).toBe(name)
      return { dealer, id, name }
    }
    const peers = [await join("first")]
    const { id } = peers[0] as { id: Buffer }
    for (const steps of [1, 2, 3]) peers.push(await join(`taker ${steps}`, idAfter(id, steps)))
    for (const name of ["second", "third"]) peers.push(await join(name))
    expect(new Set(peers.map(({ id }) => id.toString("hex"))).size).toBe(peers.length)
    for (const { id, name } of peers) await router.send([id, `for ${name}`])
    for (const { dealer, name } of peers)
      expect(String((await dealer.receive())[0])).toBe(`for ${name}`)
  })

  test("assigned ids do not follow one another", async () => {
    const router = use(new Router())
    await router.bind(ANY, options)
    const ids: Buffer[] = []
    for (let i = 0; i < 3; i++) {
      const dealer = use(new Dealer())
      dealer.connect(router.lastEndpoint as string, options)
      await dealer.send("hello")
      ids.push(((await router.receive()) as Buffer[])[0] as Buffer)
    }
    const [a, b, c] = ids as [Buffer, Buffer, Buffer]
    expect([idAfter(a, 1), idAfter(b, 1)]).not.toEqual([b, c])
  })

  test("connect() refuses a routing id that a peer has, and may be called again", async () => {
    const pull = use(new Router())
    await pull.bind(ANY, options)
    const endpoint = pull.lastEndpoint as string
    const router = use(new Router({ mandatory: true }))
    router.connect(endpoint, { ...options, routingId: "a" })
    expect(() => router.connect(endpoint, { ...options, routingId: "a" })).toThrow(
      expect.objectContaining({
        code: "EINVAL",
        address: endpoint,
        message: 'Invalid argument: another peer of the socket has the routing id "a"',
      }),
    )
    router.connect(endpoint, { ...options, routingId: "b" })
    await router.send(["a", "to a"])
    await router.send(["b", "to b"])
    const texts = [await pull.receive(), await pull.receive()].map(([, text]) => String(text))
    expect(texts.sort()).toEqual(["to a", "to b"])
  })
})
