/** Messages of a PUB or XPUB with `noDrop` that go to libzmq's endpoints and the others. */
import { expect, test } from "vitest"
import type { Message } from "../../src/patterns/message.js"
import type { SocketType } from "../../src/patterns/socket-type.js"
import { AllOrNone } from "../../src/sockets/all-or-none.js"

test("a message that cannot be encoded when the socket is closed keeps no other from leaving", async () => {
  const left: string[] = []
  const type = {
    hasRoomFor: () => true,
    send: ([part]: Message) => {
      if (String(part) === "too much") throw new Error("out of memory")
      left.push(String(part))
    },
  } as unknown as SocketType
  const endless = new Promise<void>(() => {})
  let offers = 0
  // libzmq has room for the first only when the socket is closed already.
  const line = new AllOrNone(type, () => (offers++ === 0 ? endless : undefined))
  const outcomes = ["first", "too much", "last"].map((text) =>
    line.send([Buffer.from(text)]).then(
      () => "sent",
      (error) => error.message,
    ),
  )
  line.close()
  expect(left).toEqual(["first", "last"])
  expect(await Promise.all(outcomes.slice(1))).toEqual(["out of memory", "sent"])
})
