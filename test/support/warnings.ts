import { onTestFinished } from "vitest"

/** Collects warnings of the process from now until the test ends. */
export function warnings(): (Error & { code?: string })[] {
  const heard: Error[] = []
  const add = (warning: Error) => heard.push(warning)
  process.on("warning", add)
  onTestFinished(() => {
    process.off("warning", add)
  })
  return heard
}
