/** Keeps the process alive while calls wait for the network, because their sockets do not. */
import { clockMs, setInterval, setTimeout } from "../../base/runtime.js"
import { STREAM } from "../../transport/pending-attempts.js"
import { collect, mustSettle } from "./settle.js"

const FOREVER_MS = 2 ** 31 - 1
const BRIEF_MS = 20
/** How often that is repeated if the event loop has something else to do, such as to close sockets. */
const REPEATS_MAX = 5

let references = 0
let timer: NodeJS.Timeout | undefined
let isBrief = false
let briefEndMs = 0
let repeats = 0

function add(): void {
  if (references++ > 0) return
  if (timer) timer.ref()
  // The timer stays for good. A function of this module would keep its copy of the package in memory.
  else timer = setInterval(Function.prototype as () => void, FOREVER_MS)
}

function remove(): void {
  if (--references > 0) return
  timer?.unref()
  holdBriefly()
}

/**
 * Keeps a process of Node 20 alive for a moment: while its event loop runs, a compiler thread of V8 that
 * waits for a garbage collection gets it.
 */
export function holdBriefly(): void {
  if (!mustSettle) return
  briefEndMs = clockMs() + BRIEF_MS
  repeats = 0
  if (isBrief) return
  isBrief = true
  setTimeout(endBrief, BRIEF_MS)
}

function endBrief(): void {
  isBrief = false
  if (references > 0) return
  const leftMs = Math.ceil(briefEndMs - clockMs())
  // A thread that has not run yet may still ask for a collection.
  if (leftMs <= 0 && isLast()) collect()
  else if (leftMs > 0 || repeats++ < REPEATS_MAX) {
    isBrief = true
    setTimeout(endBrief, leftMs > 0 ? leftMs : BRIEF_MS)
  }
}

/** Returns whether the event loop has nothing else to do, so that a collection may take long. */
function isLast(): boolean {
  const resources = process.getActiveResourcesInfo?.() ?? []
  const others = resources.filter((name) => name !== "Immediate" && !STREAM.test(name))
  // Node lists the timer whose callback this is.
  return others.length <= 1 && others.every((name) => name === "Timeout")
}

// Whatever held the process was garbage-collected, so it waits for nothing any more.
const collected = new FinalizationRegistry<{ count: number }>(({ count }) => {
  for (let i = 0; i < count; i++) remove()
})

/** Keeps the process alive between `ref()` and `unref()`. */
export class Hold {
  readonly #held = { count: 0 }

  constructor() {
    collected.register(this, this.#held)
  }

  ref(): void {
    this.#held.count++
    add()
  }

  unref(): void {
    this.#held.count--
    remove()
  }
}
