import { loadInstanceSync } from "../codec/module.js"
import { Dialer } from "./dialer.js"
import type { HostPort } from "./endpoint.js"
import { Listener } from "./listener.js"
import type { DialSpec, ListenSpec, TransportEvent } from "./protocol.js"

/** All endpoints of a thread. It lives on the thread that does the work. */
export class Hub {
  readonly #endpoints = new Map<number, Listener | Dialer>()
  readonly #emit: (event: TransportEvent) => void

  constructor(emit: (event: TransportEvent) => void) {
    this.#emit = (event) => {
      // An endpoint is gone once, whatever it says.
      if (event.type !== "released" || this.#endpoints.delete(event.endpoint)) emit(event)
    }
  }

  /** Binds; connections wait until `activate`. */
  async listen(endpoint: number, spec: ListenSpec): Promise<HostPort> {
    const listener = new Listener(endpoint, spec, loadInstanceSync(), this.#emit)
    const address = await listener.start()
    this.#endpoints.set(endpoint, listener)
    return address
  }

  /** libzmq's side of the endpoint is there now. */
  activate(endpoint: number): void {
    const listener = this.#endpoints.get(endpoint)
    if (listener instanceof Listener) listener.activate()
  }

  /** Dials for each connection that libzmq makes to the private path, which is there on return. */
  dial(endpoint: number, spec: DialSpec): void {
    this.#endpoints.set(endpoint, new Dialer(endpoint, spec, loadInstanceSync(), this.#emit))
  }

  /**
   * libzmq is closing its side: no new connections. What it still hands over is
   * sent, within `lingerMs`; -1 is no limit.
   */
  release(endpoint: number, lingerMs: number): void {
    this.#endpoints.get(endpoint)?.release(lingerMs)
  }
}
