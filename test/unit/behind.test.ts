/** Programs with more messages than they may receive in one turn of the event loop. */
import { setImmediate as turn } from "node:timers/promises"
import { expect, onTestFinished, test } from "vitest"
import { Pull, Push } from "../../src/index.js"
import { mayReadNow } from "../../src/transport/read-turns.js"

const COUNT = 600

test("a receive() that waits for a turn does not block others when its messages disappear with their endpoint", async () => {
  const push = new Push({ linger: 0, sendHighWaterMark: 0 })
  const pull = new Pull({ linger: 0, receiveHighWaterMark: 0 })
  onTestFinished(() => {
    push.close()
    pull.close()
  })
  await push.bind("lz4+tcp://127.0.0.1:*")
  const address = push.lastEndpoint as string
  pull.connect(address)
  for (let i = 0; i < COUNT; i++) await push.send(`${i}`)
  while (pull.lz4.connections[0]?.received.messages !== COUNT || !mayReadNow()) await turn()

  // Enough calls that the last of them waits for a turn of the event loop.
  const receive = () => pull.receive().then(String, (error) => error.code)
  const received: Promise<string>[] = []
  while (received.length < COUNT && mayReadNow()) received.push(receive())
  expect(received.length).toBeLessThan(COUNT)
  pull.disconnect(address)
  await turn()
  await turn()
  expect(mayReadNow()).toBe(true)

  pull.close()
  expect(await received.at(-1)).toBe("EAGAIN")
})
