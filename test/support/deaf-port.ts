/** Ports whose system does not answer, as that of a host behind a firewall that drops packets (Linux). */
import { once } from "node:events"
import { readFileSync } from "node:fs"
import { connect } from "node:net"
import { Worker } from "node:worker_threads"
import { onTestFinished } from "vitest"
import { eventually } from "./sockets.js"

/** A port whose queue is full, so that the system does not answer. */
export async function deaf(): Promise<number> {
  const source = `const { parentPort } = require("node:worker_threads")
    const server = require("node:net").createServer()
    server.listen({ port: 0, host: "127.0.0.1", backlog: 1 }, () => {
      parentPort.postMessage(server.address().port)
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)
    })`
  const worker = new Worker(source, { eval: true })
  const [port] = (await once(worker, "message")) as [number]
  const fillers = Array.from({ length: 4 }, () => connect(port, "127.0.0.1").on("error", () => {}))
  onTestFinished(async () => {
    for (const filler of fillers) filler.destroy()
    await worker.terminate()
  })
  await Promise.all(fillers.slice(0, 2).map((filler) => once(filler, "connect")))
  await eventually(() => dialling(port).length === fillers.length - 2)
  return port
}

/** Returns the local ports that are waiting for an answer from this one. */
export function dialling(port: number): string[] {
  const SYN_SENT = "02"
  const hex = port.toString(16).toUpperCase().padStart(4, "0")
  return readFileSync("/proc/net/tcp", "utf8")
    .split("\n")
    .map((line) => line.trim().split(/\s+/))
    .filter(([, , remote, state]) => remote?.endsWith(`:${hex}`) && state === SYN_SENT)
    .map(([, local]) => local as string)
}
