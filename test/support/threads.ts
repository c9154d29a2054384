/** Endpoints with and without a thread of their own, and the threads that are started for them. */
import type { Worker } from "node:worker_threads"
import { onTestFinished } from "vitest"
import type { EndpointOptions } from "zeromq-lz4"

import { payload } from "../../bench/payloads.mjs"
import { ownHost } from "./own-host.mjs"
import type { AnySocket } from "./sockets.js"

export const ANY = `lz4+tcp://${ownHost}:*`
export const threaded: EndpointOptions = { thread: true }
export const plain: EndpointOptions = { thread: false }

/** An incompressible part of 64 KiB. */
export const noise = payload("random", 64 * 1024)

/** Returns the first part of the next message. */
export const text = async (socket: { receive(): Promise<unknown[]> }): Promise<string> =>
  String((await socket.receive())[0])

/** Binds one socket and connects the other, each with its own options. */
export async function joinWith(
  binding: AnySocket,
  connecting: AnySocket,
  bound: EndpointOptions,
  connected: EndpointOptions,
  address: string = ANY,
): Promise<string> {
  await binding.bind(address, bound)
  const endpoint = binding.lastEndpoint as string
  connecting.connect(endpoint, connected)
  return endpoint
}

const exits = new WeakMap<Worker, Promise<void>>()

/** Waits until a thread in a list of `startedThreads` has ended; it may have ended already. */
export const exitOf = (worker: Worker): Promise<void> => exits.get(worker) as Promise<void>

/** Returns a list of the threads that are started from now on, until the test ends. */
export function startedThreads(): Worker[] {
  const started: Worker[] = []
  const add = (worker: Worker) => {
    started.push(worker)
    exits.set(worker, new Promise((resolve) => worker.once("exit", () => resolve())))
  }
  process.on("worker", add)
  onTestFinished(() => {
    process.off("worker", add)
  })
  return started
}
