import type { Observer, Socket } from "zeromq"
import { isLz4 } from "../transport/endpoint.js"
import { zmqError } from "../transport/zmq-error.js"
import { type EndpointOptions, Endpoints } from "./endpoints.js"
import { watch } from "./exit.js"
import type { Lz4 } from "./lz4.js"
import { translate } from "./observer.js"

/** What a socket class gains. */
export interface Lz4Socket {
  /** What the socket tells of its `lz4+tcp://` connections. */
  readonly lz4: Lz4
  /**
   * Binds to an endpoint. For `lz4+tcp://` the grammar is that of `tcp://`, and
   * there may be options.
   *
   * @throws TypeError, RangeError for wrong options.
   * @throws Error with a code of zeromq.js: EINVAL, ENODEV, EADDRINUSE, ENOTSUP …
   */
  bind(address: string, options?: EndpointOptions): Promise<void>
  bindSync(address: string, options?: EndpointOptions): void
  /** Connects to an endpoint. For `lz4+tcp://` there may be options. Throws as `bind` does. */
  connect(address: string, options?: EndpointOptions): void
}

/** A constructor of zeromq.js, of which the sockets also speak `lz4+tcp://`. */
export type Lz4Class<C extends SocketClass> = {
  new (...args: ConstructorParameters<C>): InstanceType<C> & Lz4Socket
  readonly prototype: InstanceType<C> & Lz4Socket
}

type ConnectOptions = EndpointOptions & { routingId?: string }

// biome-ignore lint/suspicious/noExplicitAny: what TypeScript asks of the base of a mixin
type SocketClass = new (...args: any[]) => Socket

// Not in fields: zeromq.js seals its sockets while it constructs them.
const states = new WeakMap<Socket, Endpoints>()

function endpointsOf(socket: Socket): Endpoints {
  let endpoints = states.get(socket)
  if (!endpoints) {
    endpoints = new Endpoints()
    states.set(socket, endpoints)
    watch(socket, endpoints)
  }
  return endpoints
}

/** Extends a socket class of zeromq.js, which keeps its name and all else that it does. */
export function extend<C extends SocketClass>(Base: C): Lz4Class<C> {
  class Extended extends Base {
    get lz4(): Lz4 {
      return endpointsOf(this).lz4
    }

    override bind(address: string, options: EndpointOptions = {}): Promise<void> {
      const endpoints = endpointsOf(this)
      checkFree(endpoints)
      if (this.closed || !isLz4(address)) return super.bind(address)
      return blocking(this, () =>
        endpoints.bind(this, address, options, (local) => super.bind(local)),
      )
    }

    override bindSync(address: string, options: EndpointOptions = {}): void {
      const endpoints = endpointsOf(this)
      checkFree(endpoints)
      if (this.closed || !isLz4(address)) super.bindSync(address)
      else endpoints.bindSync(this, address, options, (local) => super.bindSync(local))
    }

    override unbind(address: string): Promise<void> {
      const endpoints = endpointsOf(this)
      checkFree(endpoints)
      if (this.closed || !isLz4(address)) return super.unbind(address)
      const { linger } = this
      return blocking(this, async () => {
        const endpoint = endpoints.findBound(address)
        await super.unbind(endpoint.local)
        endpoints.release(endpoint, linger)
      })
    }

    override connect(address: string, ...rest: [options?: ConnectOptions]): void {
      const endpoints = endpointsOf(this)
      checkFree(endpoints)
      const connect = super.connect.bind(this) as (address: string, ...rest: object[]) => void
      if (this.closed || !isLz4(address)) {
        connect(address, ...(rest as object[]))
        return
      }
      // The routingId is libzmq's, for a router that names its peers itself.
      const { routingId, ...options } = rest[0] ?? {}
      const routing = routingId === undefined ? [] : [{ routingId }]
      endpoints.connect(this, address, options, (local) => connect(local, ...routing))
    }

    override disconnect(address: string): void {
      const endpoints = endpointsOf(this)
      checkFree(endpoints)
      if (this.closed || !isLz4(address)) {
        super.disconnect(address)
        return
      }
      const { linger } = this
      for (const endpoint of endpoints.findConnected(address)) {
        super.disconnect(endpoint.local)
        endpoints.release(endpoint, linger)
      }
    }

    override close(): void {
      const endpoints = endpointsOf(this)
      if (endpoints.busy) {
        endpoints.closing = true
        return
      }
      const linger = this.closed ? 0 : this.linger
      super.close()
      endpoints.releaseAll(linger)
    }

    override get lastEndpoint(): string | null {
      const lastEndpoint = super.lastEndpoint
      return lastEndpoint === null ? null : endpointsOf(this).actual(lastEndpoint)
    }
  }
  Object.defineProperty(Extended, "name", { value: Base.name })
  // Declared a property in the types of zeromq.js, which an accessor cannot override.
  Object.defineProperty(Extended.prototype, "events", {
    get(this: Socket): Observer {
      return translate(Reflect.get(Base.prototype, "events", this), endpointsOf(this))
    },
  })
  return Extended as unknown as Lz4Class<C>
}

function checkFree(endpoints: Endpoints): void {
  if (endpoints.busy) throw zmqError("EBUSY", "Socket is blocked by a bind or unbind operation")
}

/** Does what blocks the socket meanwhile; as in zeromq.js, close() waits for it. */
async function blocking(socket: Socket, work: () => Promise<void>): Promise<void> {
  const endpoints = endpointsOf(socket)
  endpoints.busy = true
  try {
    await work()
  } finally {
    endpoints.busy = false
    if (endpoints.closing) socket.close()
  }
}
