/** Keeps the process alive for what the network is waited for, whose sockets do not. */

const FOREVER_MS = 2 ** 31 - 1

let holders = 0
let timer: NodeJS.Timeout | undefined

export function hold(): void {
  if (holders++ > 0) return
  if (timer) timer.ref()
  else timer = setInterval(() => {}, FOREVER_MS)
}

export function letGo(): void {
  if (--holders === 0) timer?.unref()
}
