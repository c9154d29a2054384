/** Exchanges messages under Jest's fake timers, which its configuration may install before anything is loaded. */
const { runAll } = require("./under-fake-timers.cjs")

const isInstalled = setTimeout.clock !== undefined

const fake = () => {
  jest.useFakeTimers()
  return () => jest.useRealTimers()
}

test("connections go on under fake timers", async () => {
  expect(isInstalled).toBe(process.env.FAKE_TIMERS === "before")
  const zmq = require("zeromq-lz4")
  await runAll(zmq, isInstalled ? () => () => {} : fake, process.env.FREE_PORT)
}, 600_000)
