/**
 * Makes the keys on the first start. In earnest, each machine makes its own pair, and only public keys
 * are copied: that of the server to its clients, those of the clients into keys/clients.txt.
 */
import { execSync } from "node:child_process"
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs"

if (!existsSync("keys/clients.txt")) {
  mkdirSync("keys", { recursive: true })
  for (const name of ["server", "client", "stranger"])
    execSync(`npx zeromq-lz4 keygen --force -o keys/${name}`)
  const key = readFileSync("keys/client.public", "utf8").trim()
  writeFileSync("keys/clients.txt", `${key}  the client\n`)
  console.log("made the keys of a server, a client and a stranger in keys/")
}
