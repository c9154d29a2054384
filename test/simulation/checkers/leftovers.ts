/** Rules for the end: closed sockets leave nothing behind. */
import type { Checker } from "../checker.js"
import { hasAssignedId } from "../scenario.js"
import type { Run } from "../state.js"

/** A timer with a longer interval only keeps a process alive. */
const FOREVER_MS = 1e9

export class Leftovers implements Checker {
  readonly #run: Run

  constructor(run: Run) {
    this.#run = run
  }

  end(): void {
    const { scenario, world, network, processes, isCalm } = this.#run
    if (world.failure) return
    // As in libzmq, nothing is read from a peer whose id is another's, and it dials until its messages
    // are read.
    if (scenario.sockets.some((socket) => hasAssignedId(socket) && socket.options.linger === -1))
      return
    const left = (what: string) => world.fail("nothing is left", what)
    if (network.handles.size > 0)
      left(`${network.handles.size} connections: ${[...network.handles].map(({ label }) => label)}`)
    if (network.listening > 0) left(`${network.listening} servers`)
    for (const loop of world.loops) {
      if (loop.isOver) continue
      const timers = [...loop.timers].filter(({ repeatMs = 0 }) => repeatMs < FOREVER_MS)
      if (timers.length > 0) left(`${timers.length} timers: ${timers[0]?.callback.name}`)
      if (loop.hasImmediates) left("immediates")
    }
    for (const { inside } of processes)
      for (const { loop, slabs, openBatches, open, secrets } of inside) {
        if (loop.isOver) continue
        const secret = secrets.left()
        if (secret) left(secret)
        for (const slab of slabs) {
          // Other slabs are collected together with the chunks that a connection did not write.
          const isShared = slab.bytes.buffer instanceof SharedArrayBuffer
          if (slab.live !== 0 && (isCalm || isShared)) left(`a slab with ${slab.live} chunks`)
        }
        for (const [kind, count] of open)
          if (count !== 0) left(`${count} of ${kind} in WebAssembly`)
        if (openBatches !== 0) left(`${openBatches} open batches`)
      }
  }
}
