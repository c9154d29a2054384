/**
 * Exchanges messages under fake timers of Sinon (its path and a free port are the arguments). With "before" they
 * are installed when the package is loaded.
 */
const [sinonPath, port, when] = process.argv.slice(2)
const sinon = require(sinonPath)

/** What Sinon replaces by default, and queueMicrotask(). Without nextTick(), Node's own sockets stand still. */
const toFake = [
  ...["setTimeout", "clearTimeout", "setInterval", "clearInterval", "setImmediate"],
  ...["clearImmediate", "queueMicrotask", "hrtime", "Date", "performance"],
]
const fake = () => {
  const clock = sinon.useFakeTimers({ toFake })
  return () => clock.restore()
}

const restore = when === "before" ? fake() : () => {}
const zmq = require("zeromq-lz4")
require("./under-fake-timers.cjs")
  .runAll(zmq, when === "before" ? () => () => {} : fake, port)
  .then(() => {
    restore()
    console.log("all works")
  })
