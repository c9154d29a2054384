/** Runs the dashboard, and a publisher that has something to show, until Ctrl+C or SIGTERM. */
import { publish } from "./publisher.js"
import { startServer } from "./server.js"

const { FEED = "lz4+tcp://127.0.0.1:5591", PORT = "8080" } = process.env

const stop = new AbortController()
for (const signal of ["SIGINT", "SIGTERM"]) process.on(signal, () => stop.abort())

const stopping = stop.signal
const published = publish({ endpoint: FEED, stopping })
const { url, stopped } = await startServer({ feed: FEED, port: Number(PORT), stopping })
console.log(`Open ${url} and press Ctrl+C to stop.`)
await Promise.all([published, stopped])
