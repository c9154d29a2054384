/** Resolves with SIGINT, SIGTERM or one of `more`. A second signal has its default effect. */
export function firstSignal(...more: readonly NodeJS.Signals[]): Promise<string> {
  return new Promise((resolve) => {
    const signals = ["SIGINT", "SIGTERM", ...more] as const
    const received = (signal: string) => {
      for (const each of signals) process.off(each, received)
      resolve(signal)
    }
    for (const each of signals) process.on(each, received)
  })
}
