/** Starts the server, and asks it as a client on its list and as a stranger. */
import { fork } from "node:child_process"
import { once } from "node:events"

const server = fork("server.js")
const stopped = once(server, "exit")
const [news] = await Promise.race([once(server, "message"), stopped])
if (news !== "listening") process.exit(1)

const exitCode = async (name) => (await once(fork("client.js", [name]), "exit"))[0]
const wasAnswered = (await exitCode("client")) === 0
const wasRefused = (await exitCode("stranger")) === 1

server.kill("SIGTERM")
await stopped
if (!wasAnswered || !wasRefused) process.exitCode = 1
