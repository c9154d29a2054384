/** Resolves with SIGINT or SIGTERM. A second signal has its default effect. */
export function firstSignal(): Promise<string> {
  return new Promise((resolve) => {
    const signals = ["SIGINT", "SIGTERM"] as const
    const received = (signal: string) => {
      for (const each of signals) process.off(each, received)
      resolve(signal)
    }
    for (const each of signals) process.on(each, received)
  })
}
