/** Keeps the process alive while operations wait for the network, because their sockets do not. */
import { setInterval } from "../codec/runtime.js"

const FOREVER_MS = 2 ** 31 - 1

let references = 0
let timer: NodeJS.Timeout | undefined

function add(): void {
  if (references++ > 0) return
  if (timer) timer.ref()
  // Not a function of this module: the timer stays, and must not keep a copy of the package alive.
  else timer = setInterval(Function.prototype as () => void, FOREVER_MS)
}

function remove(): void {
  if (--references === 0) timer?.unref()
}

// An operation that was collected no longer waits for anything.
const collected = new FinalizationRegistry<{ count: number }>(({ count }) => {
  for (let i = 0; i < count; i++) remove()
})

/** A reference that keeps the process alive. */
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
