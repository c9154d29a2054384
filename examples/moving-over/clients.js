import { Request, Subscriber } from "zeromq-lz4"

/** Connects a client that places orders. */
export function connectBuyer(...endpoint) {
  const request = new Request()
  request.connect(...endpoint)
  return {
    async order(what) {
      await request.send(what)
      const [answer] = await request.receive()
      return answer.toString()
    },
    close: () => request.close(),
  }
}

/** Connects a client that watches prices. */
export function connectWatcher(...endpoint) {
  const subscriber = new Subscriber()
  subscriber.connect(...endpoint)
  subscriber.subscribe("tea")
  return {
    /** Waits for a price that this version of the service has published. */
    async priceOf(version) {
      for await (const [, body] of subscriber) {
        const price = JSON.parse(body.toString())
        if (price.version === version) return price.euros
      }
    },
    close: () => subscriber.close(),
  }
}
