import { once } from "node:events"
import { createServer } from "node:http"
import { WebSocketServer } from "ws"
import { Subscriber } from "zeromq-lz4"
import { serveFile } from "./files.js"

/** A browser that has so much yet to read misses updates: it will get newer ones. */
const BEHIND_BYTES = 1 << 20

/** Serves the page, and passes on what a publisher sends to all pages that are open. */
export async function startServer({ feed, port, stopping }) {
  const http = createServer(serveFile)
  const browsers = new WebSocketServer({
    server: http,
    maxPayload: 1024, // pages send nothing
    verifyClient: isOurPage,
  })
  browsers.on("connection", (browser) => browser.on("error", () => browser.terminate()))
  await once(http.listen(port, "127.0.0.1"), "listening")

  const subscriber = new Subscriber({ maxMessageSize: 1 << 20 })
  subscriber.connect(feed, { keepCompressed: true })
  subscriber.subscribe("machines")

  stopping.addEventListener("abort", () => {
    subscriber.close()
    for (const browser of browsers.clients) browser.terminate()
    http.close()
    http.closeAllConnections()
  })
  return {
    url: `http://127.0.0.1:${http.address().port}/`,
    stopped: passOn(subscriber, browsers),
  }
}

/** Sends compressed parts as they came, for the page to decode, and plain ones as text. */
async function passOn(subscriber, browsers) {
  for await (const [, body] of subscriber) {
    const data = subscriber.lz4.compressedOf(body)?.bytes ?? body.toString()
    for (const browser of browsers.clients)
      if (browser.bufferedAmount < BEHIND_BYTES) browser.send(data)
  }
}

/** Any site may open a WebSocket to this machine: only the page that we serve may read it. */
function isOurPage({ origin, req }) {
  return URL.canParse(origin) && new URL(origin).host === req.headers.host
}
