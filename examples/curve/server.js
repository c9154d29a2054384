/** Answers the clients in keys/clients.txt, until SIGTERM or Ctrl+C. */
import { allowClients, Reply } from "zeromq-lz4"
import { clientList, secretKeyOf } from "./keys.js"

const { ENDPOINT = "lz4+tcp://127.0.0.1:5571" } = process.env

const server = new Reply({
  curveServer: true,
  curveSecretKey: secretKeyOf("server"),
  maxMessageSize: 1 << 20,
})
server.events.on("handshake:error:auth", ({ error }) =>
  console.log(`server: refused a client: ${error.message}`),
)
// Before bind(): a server without this accepts every client that knows its public key.
const clients = await allowClients({ file: clientList })
// With CURVE nothing is compressed unless a level is given. It is safe for answers in which nothing is
// secret, or that have no text of others: see the package's docs/curve.md.
await server.bind(ENDPOINT, { level: "adaptive" })
console.log(`server: listens at ${server.lastEndpoint}, clients on its list: ${clients.size}`)
process.send?.("listening")

for (const signal of ["SIGINT", "SIGTERM"])
  process.on(signal, () => {
    server.close()
    clients.close()
  })

for await (const [question] of server) await server.send(`${question} It is 21 °C.`)
process.disconnect?.()
