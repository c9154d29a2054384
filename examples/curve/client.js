/** Asks the server a question, with the keys of a name: node client.js NAME */
import { Request } from "zeromq-lz4"
import { publicKeyOf, secretKeyOf } from "./keys.js"

const { ENDPOINT = "lz4+tcp://127.0.0.1:5571" } = process.env
const [name = "client"] = process.argv.slice(2)

const request = new Request({
  curveServerKey: publicKeyOf("server"),
  curvePublicKey: publicKeyOf(name),
  curveSecretKey: secretKeyOf(name),
  linger: 0,
})
// It does not try again: its key would be refused again.
request.events.on("handshake:error:auth", () => {
  console.log(`${name}: the server refused the key`)
  process.exitCode = 1
  request.close()
})
request.connect(ENDPOINT, { level: "adaptive" })

await request.send("How warm is it?")
// Ends without an answer if the socket has been closed.
for await (const [answer] of request) {
  console.log(`${name}: ${answer}`)
  break
}
request.close()
