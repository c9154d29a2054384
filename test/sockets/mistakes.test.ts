/** Errors for callers' mistakes: each has the given value, what is wrong with it, and what was probably meant. */
import { describe, expect, test } from "vitest"
import * as zeromq from "zeromq"
import * as zmq from "zeromq-lz4"
import * as draft from "zeromq-lz4/draft"
import { runScript } from "../support/script.js"
import { use } from "../support/sockets.js"

type Method = "bind" | "bindSync" | "connect" | "unbind" | "unbindSync" | "disconnect"
type AnyMethod = (...args: unknown[]) => unknown
type AnyClass = new (options?: object) => zeromq.Socket

/** The result of a call: its error, and whether that was thrown synchronously. */
async function refusal(socket: zeromq.Socket, method: Method, ...args: unknown[]) {
  try {
    const result = (socket[method] as AnyMethod)(...args)
    const rejected = await Promise.resolve(result).catch((error) => ({ error, thrown: false }))
    return rejected as { error: ZmqError; thrown: boolean }
  } catch (error) {
    return { error: error as ZmqError, thrown: true }
  }
}

type ZmqError = Error & { code?: string; errno?: number; address?: string }

/** Expects an error of zeromq.js with this text, also in its stack. */
async function expectRefusal(
  socket: zeromq.Socket,
  [method, ...args]: [Method, ...unknown[]],
  code: string,
  message: string,
) {
  const { error, thrown } = await refusal(socket, method, ...args)
  expect(error).toMatchObject({ code, errno: expect.any(Number), address: args[0] })
  expect(error.message).toMatch(text(message))
  expect(error.stack).toContain(error.message)
  expect(thrown).toBe(!["bind", "unbind"].includes(method))
}

/** Returns a pattern for a message in which … stands for text that depends on the machine. */
const text = (message: string) =>
  new RegExp(`^${message.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&").replaceAll("…", ".*")}$`)

const dealer = () => use(new zmq.Dealer())

describe("errors for an lz4+tcp:// address that cannot be used", () => {
  const INVALID = "EINVAL Invalid argument"
  const NO_DEVICE = "ENODEV No such device"
  const BOTH = ["bind", "bindSync", "connect"] as const
  const BIND = ["bind", "bindSync"] as const
  const CONNECT = ["connect"] as const

  const table: [methods: readonly Method[], rest: string, words: string, says: string][] = [
    [BOTH, "", INVALID, "has neither host nor port (lz4+tcp://127.0.0.1:5555)"],
    [BOTH, "host", INVALID, "has no port (lz4+tcp://host:5555)"],
    [BOTH, "host:", INVALID, "has no port (lz4+tcp://host:5555)"],
    [BIND, "*", INVALID, "has no port (lz4+tcp://*:5555)"],
    [BOTH, "[::1]", INVALID, "has no port (lz4+tcp://[::1]:5555)"],
    [
      CONNECT,
      "*:5555",
      INVALID,
      "has * as its host, which is only for binding (lz4+tcp://127.0.0.1:5555)",
    ],
    [
      CONNECT,
      "host:*",
      INVALID,
      "has port *, which is only for binding (the port must be 1 to 65535)",
    ],
    [
      CONNECT,
      "host:0",
      INVALID,
      "has port 0, which is only for binding (the port must be 1 to 65535)",
    ],
    [CONNECT, "host:65536", INVALID, 'has port "65536" (the port must be 1 to 65535)'],
    [BIND, "127.0.0.1:65536", INVALID, 'has port "65536" (the port must be *, or 0 to 65535)'],
    [BIND, "127.0.0.1:-1", INVALID, 'has port "-1" (the port must be *, or 0 to 65535)'],
    [CONNECT, "host:http", INVALID, 'has port "http" (the port must be 1 to 65535)'],
    [CONNECT, "host:5555/path", INVALID, 'has port "5555/path" (the port must be 1 to 65535)'],
    [BOTH, "127.0.0.1: 5555", INVALID, "has white space (lz4+tcp://127.0.0.1:5555)"],
    [CONNECT, "127.0.0.1 :5555", INVALID, "has white space (lz4+tcp://127.0.0.1:5555)"],
    [BIND, "127.0.0.1 :5555", NO_DEVICE, "has white space (lz4+tcp://127.0.0.1:5555)"],
    [CONNECT, "tcp://host:5555", INVALID, "has two schemes (lz4+tcp://host:5555)"],
    [BIND, "tcp://host:5555", NO_DEVICE, "has two schemes (lz4+tcp://host:5555)"],
    [
      CONNECT,
      "me@host:5555",
      INVALID,
      'has host "me@host", which is neither an address nor a name (lz4+tcp://127.0.0.1:5555)',
    ],
    [
      BIND,
      "me@host:5555",
      NO_DEVICE,
      'has host "me@host", which is neither an address nor a name (lz4+tcp://*:5555)',
    ],
    [BIND, ":5555", NO_DEVICE, "has no host (lz4+tcp://*:5555)"],
    [
      CONNECT,
      "2001:db8::1",
      INVALID,
      'has host "2001:db8:", which is not an IPv6 address (lz4+tcp://[2001:db8::1]:5555)',
    ],
    [
      BIND,
      "2001:db8::1",
      NO_DEVICE,
      'has host "2001:db8:", which is not an IPv6 address (lz4+tcp://[2001:db8::1]:5555)',
    ],
    [
      CONNECT,
      "[::1:5555",
      INVALID,
      'has host "[::1", which is not an IPv6 address (lz4+tcp://[2001:db8::1]:5555)',
    ],
    [BIND, "[::1]:5555", NO_DEVICE, "is IPv6, which the socket's option ipv6 allows (ipv6: true)"],
    [
      BIND,
      "192.0.2.1:5555",
      "EADDRNOTAVAIL Cannot assign requested address",
      "is not an address of this machine (interfaces: …; * is all of them)",
    ],
    [
      ["bind"],
      "no.such.host.invalid:5555",
      NO_DEVICE,
      'has host "no.such.host.invalid", which is neither an interface of this machine nor the name of a host that is known (interfaces: …; * is all of them)',
    ],
    [
      ["bindSync"],
      "no-such-interface:5555",
      NO_DEVICE,
      'has host "no-such-interface", which is not an interface of this machine (interfaces: …; names of hosts are for bind(), which can wait for their addresses)',
    ],
    [BIND, "a:0;b:1", INVALID, "has a source address, which is only for connecting"],
    [CONNECT, "a:0;b:0;c:1", INVALID, "has more than one ';' (SOURCE:PORT;HOST:PORT)"],
    [CONNECT, "a;b:1", INVALID, 'has no port in "a" (SOURCE:PORT;HOST:PORT)'],
    [
      CONNECT,
      "no-such:0;b:1",
      NO_DEVICE,
      'has source "no-such", which is neither an address nor an interface (interfaces: …)',
    ],
    [
      ["unbind", "disconnect"],
      "127.0.0.1:5555",
      "ENOENT No such endpoint",
      "is not bound or connected (the socket has no lz4+tcp:// or zstd+tcp:// endpoint)",
    ],
    [
      ["unbind", "disconnect"],
      "",
      INVALID,
      "has neither host nor port (the socket has no lz4+tcp:// or zstd+tcp:// endpoint)",
    ],
  ]
  const cases = table.flatMap(([methods, ...rest]) => methods.map((one) => [one, ...rest] as const))

  test.each(cases)("%s %j: %s", async (method, rest, words, says) => {
    const address = `lz4+tcp://${rest}`
    const [code] = words.split(" ") as [string]
    const message = `${words.slice(code.length + 1)}: ${JSON.stringify(address)} ${says}`
    await expectRefusal(dealer(), [method, address], code, message)
  })

  test("the error names an address in use, or the endpoints of the socket", async () => {
    const a = dealer()
    await a.bind("lz4+tcp://127.0.0.1:*")
    const address = a.lastEndpoint as string
    const words = `Address already in use: "${address}" is already bound, by this process or another (port * takes a free one)`
    await expectRefusal(dealer(), ["bind", address], "EADDRINUSE", words)
    await expectRefusal(dealer(), ["bindSync", address], "EADDRINUSE", words)
    const other = "lz4+tcp://localhost:1"
    const unknown = `No such endpoint: "${other}" is not bound or connected (the socket has ${address})`
    await expectRefusal(a, ["disconnect", other], "ENOENT", unknown)
  })

  test("a long address is truncated in the error", async () => {
    const address = `lz4+tcp://${"x".repeat(10_000)}`
    const { error } = await refusal(dealer(), "connect", address)
    expect(error.message.length).toBeLessThan(1000)
    expect(error.message).toContain(`${"x".repeat(100)}" … has no port`)
  })
})

describe("errors for a scheme that is nearly lz4+tcp://", () => {
  const UNKNOWN = "EPROTONOSUPPORT Protocol not supported"
  const INVALID = "EINVAL Invalid argument"
  const meant = "does not begin with lz4+tcp:// (lz4+tcp://host:5555)"
  const only = "is not lz4+tcp://, and nothing else is compressed"

  describe.each<[address: string, words: string, says: string]>([
    ["lz4tcp://host:5555", UNKNOWN, meant],
    ["lz4://host:5555", UNKNOWN, meant],
    ["tcp+lz4://host:5555", UNKNOWN, meant],
    ["lz4-tcp://host:5555", UNKNOWN, meant],
    ["LZ4+TCP://host:5555", UNKNOWN, meant],
    ["Lz4+tcp://host:5555", UNKNOWN, meant],
    [" lz4+tcp://host:5555", UNKNOWN, meant],
    ["lz4+tcp:/host:5555", INVALID, meant],
    ["lz4+tcp:host:5555", INVALID, meant],
    ["lz4+tcp//host:5555", INVALID, meant],
    ["lz4+ipc://file", UNKNOWN, `${only} (ipc://)`],
    ["lz4+inproc://name", UNKNOWN, `${only} (inproc://)`],
    ["lz4+ws://host:5555", UNKNOWN, `${only} (ws://)`],
  ])("%s", (address, words, says) => {
    const [code] = words.split(" ") as [string]
    const message = `${words.slice(code.length + 1)}: ${JSON.stringify(address)} ${says}`

    test.each<Method>(["bind", "bindSync", "connect", "unbind", "disconnect"])(
      "%s",
      async (method) => {
        await expectRefusal(dealer(), [method, address], code, message)
      },
    )
  })

  test.each(["tcp://host", "nonsense://host:5555", "", "host:5555"])(
    "%j gives zeromq.js's own error",
    async (address) => {
      const [ours, theirs] = [dealer(), use(new zeromq.Dealer())]
      const [one, other] = [
        await refusal(ours, "connect", address),
        await refusal(theirs, "connect", address),
      ]
      expect(one.error.message).toBe(other.error.message)
    },
  )

  test("the error of a closed socket says that it is closed", async () => {
    const socket = dealer()
    socket.close()
    const { error } = await refusal(socket, "connect", "lz4tcp://host:5555")
    expect(error).toMatchObject({ code: "EBADF", message: "Socket is closed" })
  })

  test("so does that of a closed ROUTER with options", async () => {
    const socket = use(new zmq.Router())
    socket.close()
    const { error } = await refusal(socket, "connect", "lz4+tcp://127.0.0.1:5555", { level: 9 })
    expect(error).toMatchObject({ code: "EBADF", message: "Socket is closed" })
  })
})

describe("errors of classes without lz4+tcp://", () => {
  test.each<Method>(["bind", "bindSync", "connect"])("Stream: %s", async (method) => {
    const address = "lz4+tcp://127.0.0.1:5555"
    const message = `Protocol not supported: "${address}" is not for Stream, which speaks plain TCP, not ZMTP`
    await expectRefusal(use(new zmq.Stream()), [method, address], "EPROTONOSUPPORT", message)
  })

  test("Datagram refuses lz4+tcp://", async () => {
    const address = "lz4+tcp://127.0.0.1:5555"
    const message = `Protocol not supported: "${address}" is not for Datagram, which speaks UDP, not ZMTP`
    const datagram = use(new draft.Datagram())
    await expectRefusal(datagram, ["connect", address], "EPROTONOSUPPORT", message)
  })

  test("Stream otherwise works as in zeromq.js", async () => {
    const stream = use(new zmq.Stream())
    expect(stream).toBeInstanceOf(zeromq.Stream)
    expect(zmq.Stream.name).toBe("Stream")
    await stream.bind("tcp://127.0.0.1:*")
    const other = use(new zmq.Stream())
    other.connect(stream.lastEndpoint as string, { routingId: "other" })
    const [id, empty] = await stream.receive()
    expect([id?.length, empty?.length]).toEqual([5, 0])
  })
})

describe("an option in the wrong place", () => {
  const classes: [string, AnyClass][] = [
    ...Object.entries(zmq).filter(
      ([, one]) => typeof one === "function" && "lz4" in (one.prototype ?? {}),
    ),
    ["Server", draft.Server],
  ] as never

  const endpointOptions: Record<string, unknown> = {
    dictionary: Buffer.from("words"),
    autoDictionary: true,
    minCompressSize: 100,
    acceleration: 2,
    level: 9,
    arenas: true,
    revision: 1,
    thread: true,
    receiveHighWaterBytes: 1000,
  }

  test.each(Object.entries(endpointOptions))(
    "%s is not for constructors, and the error says where it belongs",
    (name, value) => {
      expect(() => new zmq.Push({ linger: 0, [name]: value } as never)).toThrow(
        expect.objectContaining({
          name: "TypeError",
          code: "ERR_INVALID_ARG_VALUE",
          message: `${name} is not an option of Push; it goes with an endpoint: socket.connect("lz4+tcp://HOST:PORT", { ${name} }), or the same with bind`,
        }),
      )
    },
  )

  test.each(Object.entries(endpointOptions))("%s is not a property of sockets", (name, value) => {
    const push = use(new zmq.Push()) as unknown as Record<string, unknown>
    expect(() => Reflect.set(push, name, value)).toThrow(`${name} is not an option of Push`)
    expect(push[name]).toBe(undefined)
  })

  test.each(classes)("the error of new %s has the name of the class", (name, Class) => {
    expect(() => new Class({ level: 9 })).toThrow(`level is not an option of ${name}; it goes with`)
  })

  test("a subclass that passes its options on gets the same error", () => {
    class Mine extends zmq.Push {
      constructor() {
        super({ thread: true } as never)
      }
    }
    expect(() => new Mine()).toThrow("thread is not an option of Push")
  })

  test.each(["level", "stats"])("a subclass may have its own option %s", (name) => {
    const values = new WeakMap<object, unknown>()
    class Mine extends zmq.Push {}
    Object.defineProperty(Mine.prototype, name, {
      get() {
        return values.get(this)
      },
      set(value) {
        values.set(this, value)
      },
    })
    class Derived extends Mine {}
    for (const Class of [Mine, Derived]) {
      const socket = use(new Class({ linger: 0, [name]: 3 } as never))
      expect(Reflect.get(socket, name)).toBe(3)
    }
  })

  test.each([
    ["lz4", /^lz4 is not an option of Push; it goes with an endpoint: .* \{ level \}/],
    ["stats", /^stats is not an option of Push; read socket\.lz4\.stats$/],
    ["connections", /^connections is not an option of Push; read socket\.lz4\.connections$/],
  ])("%s of a constructor belongs to socket.lz4", (name, message) => {
    expect(() => new zmq.Push({ [name]: {} } as never)).toThrow(message)
  })

  test("a process that caught such an error ends normally", async () => {
    const said = runScript(`
      try { new zmq.Push({ level: 9 }) } catch (error) { return error.message }`)
    expect(await said).toMatch(/^level is not an option of Push/)
  })

  test.each(["maxMessageSize", "sendHighWaterMark", "linger", "conflate", "routingId"])(
    "%s is an option of the socket, not of an endpoint",
    async (name) => {
      for (const method of ["bind", "bindSync", "connect"] as const) {
        const { error } = await refusal(dealer(), method, "lz4+tcp://127.0.0.1:5555", { [name]: 1 })
        expect(error).toMatchObject({ name: "TypeError", code: "ERR_INVALID_ARG_VALUE" })
        expect(error.message).toBe(
          `unknown option "${name}" of an endpoint; it goes with the socket: new Dealer({ ${name} })`,
        )
      }
    },
  )

  test.each([5, "level", true])("values that are not options are refused: %j", async (options) => {
    for (const socket of [dealer(), use(new zmq.Router())])
      for (const method of ["bind", "bindSync", "connect"] as const) {
        const { error } = await refusal(socket, method, "lz4+tcp://127.0.0.1:5555", options)
        expect(error).toMatchObject({ name: "TypeError", code: "ERR_INVALID_ARG_TYPE" })
        expect(error.message).toMatch(/^options must be an object; got /)
      }
  })
})

describe("options with an endpoint of another scheme are refused with the reason", () => {
  test.each<[Method, address: string, meant: string]>([
    ["connect", "tcp://127.0.0.1:5555", "lz4+tcp://127.0.0.1:5555"],
    ["bind", "tcp://127.0.0.1:*", "lz4+tcp://127.0.0.1:*"],
    ["bindSync", "tcp://127.0.0.1:*", "lz4+tcp://127.0.0.1:*"],
    ["connect", "inproc://name", "lz4+tcp://HOST:PORT"],
    ["connect", "ipc:///tmp/name", "lz4+tcp://HOST:PORT"],
  ])("%s %s", async (method, address, meant) => {
    const { error, thrown } = await refusal(dealer(), method, address, { level: 9 })
    expect(thrown).toBe(true)
    expect(error).toBeInstanceOf(TypeError)
    expect(error).toMatchObject({ code: "ERR_INVALID_ARG_VALUE" })
    expect(error.message).toBe(
      `Expected 1 argument but received 2: "${address}" takes no options, which are for lz4+tcp:// (${meant})`,
    )
  })

  test("Router, whose connect() has options in zeromq.js, does not ignore ours", () => {
    const router = use(new zmq.Router())
    const address = "tcp://127.0.0.1:5555"
    // @ts-expect-error: an option of lz4+tcp://
    expect(() => router.connect(address, { routingId: "peer", level: 9 })).toThrow(
      `"${address}" takes no option level, which is for lz4+tcp:// (lz4+${address})`,
    )
    router.connect(address, { routingId: "peer" })
  })

  test("with a scheme that is nearly lz4+tcp://, the error is about the scheme", async () => {
    const { error } = await refusal(dealer(), "connect", "lz4tcp://host:5555", { level: 9 })
    expect(error.message).toContain("(lz4+tcp://host:5555)")
  })
})

describe("errors for socket options that lz4+tcp:// does not support", () => {
  const address = "lz4+tcp://127.0.0.1:5555"
  const says = (rest: string) => `Operation not supported: "${address}" ${rest}`

  test.each<[string, object, message: string]>([
    [
      "sendBufferSize",
      { sendBufferSize: 4096 },
      says(
        "cannot have the socket's sendBufferSize of 4096, as Node does not set it (leave it at -1, or use tcp://)",
      ),
    ],
  ])("%s", async (_, options, message) => {
    for (const method of ["bind", "bindSync", "connect"] as const)
      await expectRefusal(use(new zmq.Dealer(options)), [method, address], "ENOTSUP", message)
  })
})

describe("errors for messages that cannot be sent or received", () => {
  const EFSM = "Operation cannot be accomplished in current state"
  const request = () => use(new zmq.Request({ receiveTimeout: 0 }))
  const reply = () => use(new zmq.Reply({ sendTimeout: 0 }))
  const server = () => use(new draft.Server())
  const radio = () => use(new draft.Radio())

  const table: [message: string, make: () => zeromq.Socket, args: unknown[]][] = [
    [`${EFSM}: a Request sends, then receives the reply, in turns`, request, []],
    [`${EFSM}: a Reply receives a request, then sends the reply, in turns`, reply, ["text"]],
    [
      "Host unreachable: no connected peer has the routing id that the message is for",
      () => use(new zmq.Router({ mandatory: true, sendTimeout: 0 })),
      [["nobody", "text"]],
    ],
    [
      "Host unreachable: no connected peer has the routing id that the message is for",
      server,
      ["text", { routingId: 7 }],
    ],
    ["Invalid argument: a message of SERVER has one part", server, [["a", "b"], { routingId: 7 }]],
    [
      "Invalid argument: a Server sends with the routing id that came with a message: send(message, { routingId })",
      server,
      ["text", {}],
    ],
    ["Invalid argument: a Radio sends to a group: send(message, { group })", radio, ["text", {}]],
    ['A number was expected: routingId is "7"', server, ["text", { routingId: "7" }]],
    ["Value must be a string or buffer: group is 5 (number)", radio, ["text", { group: 5 }]],
  ]

  test.each(table)("%s", async (message, make, args) => {
    const socket = make()
    await socket.bind("lz4+tcp://127.0.0.1:*")
    const { send, receive } = socket as unknown as Record<string, AnyMethod>
    const call = async () => (args.length > 0 ? send : receive)!.apply(socket, args)
    await expect(call()).rejects.toThrow(expect.objectContaining({ message }))
  })
})
