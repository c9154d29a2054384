/** Routing ids that sockets assign, where peers have chosen the ids that come next. */
import { expect, test, vi } from "vitest"

import { randomId } from "../../../src/patterns/random-id.js"
import { Rep } from "../../../src/patterns/rep.js"
import { Router } from "../../../src/patterns/router.js"
import { Server } from "../../../src/patterns/server.js"
import { Bench, burst } from "../../support/pipes.js"

vi.mock("../../../src/patterns/random-id.js", () => ({ randomId: vi.fn() }))

/** Makes sockets draw these numbers. */
const draws = (...ids: number[]) => {
  vi.mocked(randomId).mockReset()
  for (const id of ids) vi.mocked(randomId).mockReturnValueOnce(id)
}

/** The routing id that a ROUTER makes of a number. */
const idOf = (number: number) => `\0\0\0\0${String.fromCharCode(number)}`

test("a ROUTER assigns no routing id that a peer has chosen", async () => {
  draws(1, 2, 3)
  const router = new Bench(Router)
  const first = router.peer()
  const chosen = router.peer({}, idOf(2))
  const second = router.peer()
  const peers = [first, chosen, second]
  for (const [i, peer] of peers.entries()) peer.says(`${i}`)
  const received = router.receiveAll()
  expect(received).toEqual([`${idOf(1)}|0`, `${idOf(2)}|1`, `${idOf(3)}|2`])
  for (const text of received) router.send(text)
  await burst()
  expect(peers.map(({ connection }) => connection.take())).toEqual([["0"], ["1"], ["2"]])
})

test("a ROUTER assigns no routing id that connect() was given, nor that of a peer with an assigned one", () => {
  draws(1, 1, 2, 3)
  const router = new Bench(Router)
  router.connect({}, idOf(2)).attach()
  for (const text of ["a", "b"]) router.peer().says(text)
  expect(router.receiveAll().sort()).toEqual([`${idOf(1)}|a`, `${idOf(3)}|b`])
})

test("a peer that loses its routing id is not given that id again, nor another's", () => {
  draws(1, 2)
  const router = new Bench(Router, { handover: true })
  const old = router.peer({}, idOf(1))
  old.says("old")
  old.pipe.close()
  router.peer({}, idOf(1)).says("new")
  expect(router.receiveAll()).toEqual([`${idOf(2)}|old`, `${idOf(1)}|new`])
})

test("peers that take the next ids are forgotten when they leave", () => {
  draws(1, 2, 3)
  const router = new Bench(Router)
  const terminated = vi.spyOn(router.type, "terminated")
  const peers = [router.peer(), router.peer({}, idOf(2)), router.peer()]
  for (const peer of peers) peer.pipe.close()
  expect(terminated).toHaveBeenCalledTimes(3)
  for (const id of [1, 2, 3])
    expect(router.type.knows([Buffer.from(idOf(id)), Buffer.alloc(0)], {})).toBe(false)
})

test("a REP answers who asked, whatever ids its peers choose", async () => {
  draws(1, 2, 3)
  const rep = new Bench(Rep)
  const peers = [rep.peer(), rep.peer({}, idOf(2)), rep.peer()]
  for (const [i, peer] of peers.entries()) peer.says(`|${i}`)
  for (let i = 0; i < peers.length; i++) rep.send(rep.receive())
  await burst()
  expect(peers.map(({ connection }) => connection.take())).toEqual([["|0"], ["|1"], ["|2"]])
})

test("a SERVER assigns each client a number of its own, and never 0", () => {
  draws(7, 7, 0, 8)
  const server = new Bench(Server)
  for (const text of ["a", "b"]) server.peer().says(text)
  const received = [0, 1].map(() => [server.receive(), server.type.routing])
  expect(received).toEqual([
    ["a", { routingId: 7 }],
    ["b", { routingId: 8 }],
  ])
})
