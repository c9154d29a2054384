/** Serves the page until Ctrl+C or SIGTERM. */
import { once } from "node:events"
import { createServer } from "node:http"
import { serveFile } from "./files.js"

const { PORT = "8081" } = process.env

const server = createServer(serveFile)
await once(server.listen(Number(PORT), "127.0.0.1"), "listening")
console.log(`Open http://127.0.0.1:${server.address().port}/ and press Ctrl+C to stop.`)

for (const signal of ["SIGINT", "SIGTERM"])
  process.on(signal, () => {
    server.close()
    server.closeAllConnections()
  })
