/** Keeps the process alive while operations wait for the network, because their sockets do not. */
import { setInterval } from "../../codec/runtime.js"

const FOREVER_MS = 2 ** 31 - 1

let references = 0
let timer: NodeJS.Timeout | undefined

function add(): void {
  if (references++ > 0) return
  if (timer) timer.ref()
  // The timer stays for good. A function of this module would keep its copy of the package in memory.
  else timer = setInterval(Function.prototype as () => void, FOREVER_MS)
}

function remove(): void {
  if (--references === 0) timer?.unref()
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
