/** Messages of a PUB or XPUB with `noDrop` and endpoints of both libzmq and lz4+tcp://. */
import { expect, test } from "vitest"
import type { Message } from "../../../src/patterns/message.js"
import type { SocketType } from "../../../src/patterns/socket-type.js"
import { AllOrNone } from "../../../src/sockets/all-or-none.js"

test("a message that cannot be encoded after close() does not prevent others from being sent", async () => {
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
  // libzmq only has room for the first message after the socket is closed.
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
