import type { HostPort } from "./endpoint.js"
import type { DialSpec, ListenSpec } from "./protocol.js"
import { chooseThread, type EndpointListener, type PooledThread } from "./thread-pool.js"

let count = 0

/** One endpoint of a socket, on the thread that its links live on. */
export class TransportEndpoint {
  readonly #id = count++
  readonly #home: PooledThread

  /** `own` and `threads` are those of `chooseThread`, which may throw. */
  constructor(own: boolean | undefined, threads: number, listener: EndpointListener) {
    this.#home = chooseThread(own, threads)
    this.#home.add(this.#id, listener)
  }

  async listen(spec: ListenSpec): Promise<HostPort> {
    try {
      return await this.#home.thread.listen(this.#id, spec)
    } catch (error) {
      this.#home.forget(this.#id)
      throw error
    }
  }

  listenSync(spec: ListenSpec): HostPort {
    return this.#orForget(() => this.#home.thread.listenSync(this.#id, spec))
  }

  activate(): void {
    this.#home.thread.activate(this.#id)
  }

  /** On return the private path is there for libzmq to connect to. */
  dial(spec: DialSpec): void {
    this.#orForget(() => this.#home.thread.dial(this.#id, spec))
  }

  /** Lets the endpoint go, with `lingerMs` for what libzmq still hands over; -1 is no limit. */
  release(lingerMs: number): void {
    if (this.#home.has(this.#id)) this.#home.thread.release(this.#id, lingerMs)
  }

  #orForget<T>(call: () => T): T {
    try {
      return call()
    } catch (error) {
      this.#home.forget(this.#id)
      throw error
    }
  }
}
