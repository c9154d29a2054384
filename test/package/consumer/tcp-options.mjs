/** Prints which TCP options reach the system at both ends of a connection, or how they are refused. */
import { once } from "node:events"
import * as net from "node:net"
import zmq from "zeromq-lz4"

/** The last call for each end: Node itself makes one first. */
const calls = new Map()
const server = net.createServer().listen(0, "127.0.0.1")
await once(server, "listening")
const probe = net.connect(server.address().port, "127.0.0.1")
await once(probe, "connect")
const handle = Object.getPrototypeOf(probe._handle)
probe.destroy()
server.close()

const { setKeepAlive, setTypeOfService } = handle
handle.setKeepAlive = function (...args) {
  const status = setKeepAlive.apply(this, args)
  if (status === 0) calls.set(this, ["setKeepAlive", ...args])
  return status
}
handle.setTypeOfService = function (value) {
  const status = setTypeOfService.call(this, value)
  calls.set(this, ["getTypeOfService", this.getTypeOfService()])
  return status
}

async function outcome(options) {
  calls.clear()
  const [pull, push] = [new zmq.Pull(options), new zmq.Push(options)]
  try {
    await pull.bind("lz4+tcp://127.0.0.1:*")
    push.connect(pull.lastEndpoint)
    await push.send("")
    await pull.receive()
    return [...calls.values()]
  } catch ({ code, message }) {
    return `${code}: ${message}`
  } finally {
    push.close()
    pull.close()
  }
}

const keepAlive = { tcpKeepalive: 1 }
const outcomes = {
  idle: await outcome({ ...keepAlive, tcpKeepaliveIdle: 60 }),
  interval: await outcome({ ...keepAlive, tcpKeepaliveIdle: 60, tcpKeepaliveInterval: 7 }),
  count: await outcome({ ...keepAlive, tcpKeepaliveCount: 3 }),
  typeOfService: await outcome({ typeOfService: 32 }),
  off: await outcome({ tcpKeepaliveIdle: 60, tcpKeepaliveCount: 3 }),
}
console.log(JSON.stringify(outcomes))
