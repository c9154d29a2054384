/** What goes on while a test has replaced timers and clock, over `tcp://` as over `lz4+tcp://`. */
const assert = require("node:assert/strict")
const { createCipheriv } = require("node:crypto")

const TEXT = "a message that is long enough to be compressed. ".repeat(50)
const LARGE_BYTES = 20 << 20
/** Bytes that do not compress. */
const NOISE = createCipheriv("aes-128-ctr", Buffer.alloc(16), Buffer.alloc(16)).update(
  Buffer.alloc(LARGE_BYTES),
)

const event = (socket, name) => new Promise((resolve) => socket.events.on(name, resolve))

async function exchange(push, pull, count) {
  for (let i = 0; i < count; i++) {
    await push.send([String(i), TEXT])
    const [number, text] = await pull.receive()
    assert.equal(String(number), String(i))
    assert.equal(String(text), TEXT)
  }
}

/**
 * Each scenario gets zeromq.js or the package, the ways to `bind` and `connect` (with the options of an
 * endpoint), an address with any port, one with a port that is free, and what installs fake timers.
 */
exports.scenarios = {
  "an established connection": async ({ Push, Pull }, { any, bind, connect, fake, use }) => {
    const [push, pull] = [use(new Push()), use(new Pull())]
    await bind(pull, any)
    connect(push, pull.lastEndpoint)
    await exchange(push, pull, 3)
    fake()
    await exchange(push, pull, 100)
  },

  "a fresh connection": async ({ Request, Reply }, { any, bind, connect, fake, use }) => {
    fake()
    const [request, reply] = [use(new Request()), use(new Reply())]
    await bind(reply, any)
    connect(request, reply.lastEndpoint)
    for (let i = 0; i < 20; i++) {
      await request.send(`question ${i}`)
      assert.equal(String(await reply.receive()), `question ${i}`)
      await reply.send(TEXT)
      assert.equal(String(await request.receive()), TEXT)
    }
  },

  "a peer that binds later": async ({ Push, Pull }, { free, bind, connect, fake, use }) => {
    fake()
    const [push, pull] = [use(new Push({ reconnectInterval: 10 })), use(new Pull())]
    const retries = event(push, "connect:retry")
    connect(push, free)
    await retries
    await bind(pull, free)
    await exchange(push, pull, 3)
  },

  "a peer that comes back": async (
    { XPublisher, Subscriber },
    { free, bind, connect, fake, use },
  ) => {
    const [first, second] = [use(new XPublisher()), use(new XPublisher())]
    const subscriber = use(new Subscriber({ reconnectInterval: 10 }))
    subscriber.subscribe("a")
    await bind(first, free)
    const gone = event(subscriber, "disconnect")
    connect(subscriber, free)
    assert.equal(String(await first.receive()), "\x01a")
    fake()
    first.close()
    await gone
    const receiving = subscriber.receive() // libzmq subscribes again only while it is called
    await bind(second, free)
    assert.equal(String(await second.receive()), "\x01a")
    await second.send("a message")
    assert.equal(String(await receiving), "a message")
  },

  "time limits": async ({ Push, Pull }, { any, bind, fake, use }) => {
    fake()
    const [push, pull] = [use(new Push()), use(new Pull())]
    for (const socket of [push, pull]) await bind(socket, any)
    push.sendTimeout = 20
    pull.receiveTimeout = 20
    await assert.rejects(push.send("to nobody"), { code: "EAGAIN" })
    await assert.rejects(pull.receive(), { code: "EAGAIN" })
  },

  "large messages": async ({ Push, Pull }, { any, bind, connect, fake, use }) => {
    const [push, pull] = [use(new Push()), use(new Pull())]
    await bind(pull, any)
    connect(push, pull.lastEndpoint)
    fake()
    for (const large of [Buffer.alloc(LARGE_BYTES, TEXT), NOISE]) {
      await push.send(large)
      assert((await pull.receive())[0].equals(large))
    }
  },

  "full queues": async ({ Push, Pull }, { any, bind, connect, fake, use }) => {
    const push = use(new Push({ sendHighWaterMark: 2 }))
    const pull = use(new Pull({ receiveHighWaterMark: 2 }))
    await bind(pull, any)
    connect(push, pull.lastEndpoint)
    fake()
    const sending = (async () => {
      for (let i = 0; i < 2000; i++) await push.send([String(i), TEXT])
    })()
    for (let i = 0; i < 2000; i++) assert.equal(String((await pull.receive())[0]), String(i))
    await sending
  },

  closing: async ({ Push, Pull }, { any, bind, connect, fake, use }) => {
    const [push, pull] = [new Push(), use(new Pull())]
    await bind(pull, any)
    fake()
    connect(push, pull.lastEndpoint)
    for (let i = 0; i < 100; i++) await push.send(String(i))
    push.close()
    for (let i = 0; i < 100; i++) assert.equal(String(await pull.receive()), String(i))
    const [ended] = await Promise.allSettled([pull.receive(), pull.close()])
    assert.equal(ended.reason.code, "EAGAIN")
  },
}

/** The same for what only the package has. */
exports.ownScenarios = {
  "flush()": async ({ Push, Pull }, { any, bind, connect, fake, use }) => {
    const [push, pull] = [use(new Push()), use(new Pull())]
    fake()
    const gone = event(push, "disconnect")
    await bind(pull, any)
    connect(push, pull.lastEndpoint)
    for (let i = 0; i < 100; i++) await push.send(TEXT)
    await push.lz4.flush()
    pull.close()
    await gone
    await push.send(TEXT)
    await assert.rejects(push.lz4.flush({ timeout: 20 }), { code: "EAGAIN" })
  },

  "the end of linger": async ({ Push }, { free, connect, fake, use }) => {
    const push = use(new Push())
    fake()
    connect(push, free)
    await push.send(TEXT)
    push.linger = 200
    push.close()
    await push.lz4.flush() // returns once the message was dropped
  },

  "endpoints of both kinds": async ({ Push, Pull }, { any, bind, fake, use }) => {
    const [push, pull] = [use(new Push()), use(new Pull())]
    fake()
    await bind(pull, any)
    await pull.bind("tcp://127.0.0.1:*")
    push.connect(pull.lastEndpoint)
    await exchange(push, pull, 20)
  },
}

/** Runs all scenarios over `lz4+tcp://`, without and with threads. */
exports.runAll = async (zmq, fake, port) => {
  const scenarios = Object.entries({ ...exports.scenarios, ...exports.ownScenarios })
  for (const thread of [false, true]) {
    for (const [name, scenario] of scenarios) {
      const open = new Set()
      const restorers = []
      try {
        await scenario(zmq, {
          any: "lz4+tcp://127.0.0.1:*",
          free: `lz4+tcp://127.0.0.1:${port}`,
          bind: (socket, endpoint) => socket.bind(endpoint, { thread }),
          connect: (socket, endpoint) => socket.connect(endpoint, { thread }),
          use: (socket) => {
            open.add(socket)
            socket.linger = 0
            return socket
          },
          fake: () => restorers.push(fake()),
        })
      } catch (error) {
        throw new Error(`${name}, with thread: ${thread}`, { cause: error })
      } finally {
        for (const restore of restorers) restore()
        for (const socket of open) socket.close()
      }
    }
  }
}
