import type * as zmq from "zeromq"
import { loadZeromq } from "../zeromq.js"
import { Monitor } from "./monitor.js"
import { ensureState } from "./state.js"

const zeromq: typeof zmq = loadZeromq()

/** zeromq.js's Observer. As in libzmq, a new one takes the place of the socket's previous one. */
export const NamedObserver: typeof zmq.Observer = new Proxy(zeromq.Observer, {
  construct(Observer, [socket, ...more], newTarget) {
    const observer = Reflect.construct(Observer, [socket, ...more], newTarget) as zmq.Observer
    if (!("lz4" in socket)) return observer
    const state = ensureState(socket)
    state.monitor?.useNative() // so that the previous one gets its last event from libzmq
    state.monitor = new Monitor(observer, state.nativeUsed)
    return observer
  },
})
