/** The end: nothing is left of sockets that are closed. */
import type { Checker } from "../checker.js"
import type { Run } from "../state.js"

/** A timer of a longer interval is there only to keep a process alive. */
const FOREVER_MS = 1e9
/** Batches that may be open at once. */
const SLOTS = 32

export class Leftovers implements Checker {
  readonly #run: Run

  constructor(run: Run) {
    this.#run = run
  }

  end(): void {
    const { world, network, processes, isCalm } = this.#run
    if (world.failure) return
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
      for (const { loop, slabs, slots, open } of inside) {
        if (loop.isOver) continue
        for (const slab of slabs) {
          // Others are collected with the chunks that a connection did not write.
          const isShared = slab.bytes.buffer instanceof SharedArrayBuffer
          if (slab.live !== 0 && (isCalm || isShared)) left(`a slab with ${slab.live} chunks`)
        }
        for (const [kind, count] of open)
          if (count !== 0) left(`${count} of ${kind} in WebAssembly`)
        if (slots && slots.length !== SLOTS) left(`${SLOTS - slots.length} open batches`)
      }
  }
}
