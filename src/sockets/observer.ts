import type { Event, Observer } from "zeromq"
import type { Endpoints } from "./endpoints.js"

const translated = new WeakSet<Observer>()

/**
 * Lets an observer name endpoints as the user knows them. libzmq reports the
 * private ones, in its own terms: "accept" and "connect" happen on the private hop.
 */
export function translate(observer: Observer, endpoints: Endpoints): Observer {
  if (translated.has(observer)) return observer
  translated.add(observer)
  const receive = observer.receive.bind(observer)
  Object.defineProperty(observer, "receive", {
    configurable: true, // on() replaces it
    value: async (): Promise<Event> => {
      const event = await receive()
      return "address" in event ? { ...event, address: endpoints.actual(event.address) } : event
    },
  })
  return observer
}
