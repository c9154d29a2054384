/** Names with several addresses, some of which answer late, never, or refuse. */
import dns from "node:dns"
import { once } from "node:events"
import { type AddressInfo, connect, createServer, type Socket } from "node:net"
import {
  afterEach,
  beforeAll,
  beforeEach,
  describe,
  expect,
  onTestFinished,
  test,
  vi,
} from "vitest"

import type { Channel } from "../../../src/transport/channel.js"
import { Connection } from "../../../src/transport/connection.js"
import { Dialer } from "../../../src/transport/dialer.js"
import { nextAddressMs } from "../../../src/transport/tcp.js"
import type { TcpOptions } from "../../../src/transport/tcp-options.js"
import type { ConnectionOptions } from "../../../src/transport/transport.js"

vi.mock("../../../src/transport/connection.js", () => ({ Connection: vi.fn() }))

const tcp = { ipv6: true, reconnectMs: 1, connectTimeoutMs: 0 } as unknown as TcpOptions

interface TcpHandle {
  connect(request: object, address: string, port: number): number
  close(...args: unknown[]): void
}

/** Milliseconds after which an address answers, if it is late. */
const late = new Map<string, number>()
let handles: TcpHandle
const { lookup } = dns

beforeAll(async () => {
  const server = createServer().listen(0, "127.0.0.1")
  await once(server, "listening")
  const socket = connect((server.address() as AddressInfo).port, "127.0.0.1")
  handles = Object.getPrototypeOf((socket as unknown as { _handle: TcpHandle })._handle)
  socket.destroy()
  server.close()
})

beforeEach(() => {
  vi.mocked(Connection).mockReset()
  const connectNow = handles.connect
  handles.connect = function (request, address, port) {
    const ms = late.get(address)
    if (ms === undefined) return connectNow.call(this, request, address, port)
    const timer = setTimeout(() => connectNow.call(this, request, address, port), ms)
    this.close = (...args) => {
      clearTimeout(timer)
      handles.close.apply(this, args)
    }
    return 0
  }
  onTestFinished(() => {
    handles.connect = connectNow
  })
})

afterEach(() => {
  dns.lookup = lookup
  late.clear()
})

/** Dials a name with these addresses until there is a connection, and returns the address of its peer. */
async function reached(port: number, ...addresses: string[]): Promise<string | undefined> {
  const all = addresses.map((address) => ({ address, family: 4 }))
  dns.lookup = ((_name: string, _options: object, done: (error: null, found: object[]) => void) =>
    process.nextTick(done, null, all)) as unknown as typeof lookup
  const destination = { host: "two.example", port, source: undefined }
  const channel = await new Promise<Channel>((opened) => {
    const dialer = new Dialer(destination, {} as ConnectionOptions, tcp, ({ type }) => {
      if (type !== "opened") return
      dialer.close()
      opened(vi.mocked(Connection).mock.calls[0]?.[0] as Channel)
    })
    dialer.dial()
  })
  const { socket } = channel
  const { remoteAddress } = socket
  socket.destroy()
  return remoteAddress
}

async function listen(address: string): Promise<number> {
  const server = createServer((socket) => socket.on("error", () => {}).resume())
  await once(server.listen(0, address), "listening")
  onTestFinished(() => {
    server.close()
  })
  return (server.address() as AddressInfo).port
}

describe("a name with two addresses", () => {
  test("is connected to if the first answers late, and the second refuses", async () => {
    late.set("127.0.0.2", 300) // Node waits for 250 ms
    expect(await reached(await listen("127.0.0.2"), "127.0.0.2", "127.0.0.3")).toBe("127.0.0.2")
  })

  test("is connected to if the first never answers", async () => {
    late.set("127.0.0.2", 2 ** 31 - 1)
    expect(await reached(await listen("127.0.0.3"), "127.0.0.2", "127.0.0.3")).toBe("127.0.0.3")
  })

  test("is connected to if the first refuses, unlike with libzmq", async () => {
    expect(await reached(await listen("127.0.0.3"), "127.0.0.2", "127.0.0.3")).toBe("127.0.0.3")
  })
})

describe("the time that an address has to answer", () => {
  const failed = (...codes: string[]) => {
    const errors = codes.map((code) => Object.assign(new Error(code), { code }))
    return {
      errored: errors.length === 1 ? errors[0] : new AggregateError(errors),
    } as unknown as Socket
  }

  test("is doubled after an attempt in which one did not, and begins again beyond 16 s", () => {
    const all = [250]
    for (let i = 0; i < 8; i++)
      all.push(nextAddressMs(all.at(-1) as number, failed("ETIMEDOUT", "ECONNREFUSED"), tcp))
    expect(all).toEqual([250, 500, 1000, 2000, 4000, 8000, 16_000, 250, 500])
  })

  test("begins again beyond connectTimeout", () => {
    const limited = { ...tcp, connectTimeoutMs: 1000 }
    const next = (ms: number) => nextAddressMs(ms, failed("ETIMEDOUT"), limited)
    expect([250, 500, 1000].map(next)).toEqual([500, 1000, 250])
  })

  test.each([["ECONNREFUSED"], ["ECONNREFUSED", "EHOSTUNREACH"]])(
    "the time to answer stays after %s",
    (...codes) => {
      expect(nextAddressMs(500, failed(...codes), tcp)).toBe(500)
    },
  )
})
