import { setImmediate as turn } from "node:timers/promises"
import { describe, expect, it } from "vitest"
import { caughtUp, fellBehind, mayReadNow, readSoon } from "../../src/transport/read-turns.js"

/** A reader with `slices` slices to decode, which logs its calls. */
function readable(log: string[], name: string, slices = 1) {
  let left = slices
  return {
    readSlice() {
      log.push(name)
      Promise.resolve().then(() => log.push(`${name} received`))
      return --left > 0
    },
  }
}

describe("turns of decoding", () => {
  it("let programs receive the messages of a slice before the next is decoded", async () => {
    const log: string[] = []
    readSoon(readable(log, "a", 2))
    readSoon(readable(log, "b"))
    expect(log).toEqual([])
    await turn()
    expect(log).toEqual(["a", "a received", "b", "b received", "a", "a received"])
  })

  it("decode nothing while a program has more to receive than it may in a turn", async () => {
    const log: string[] = []
    fellBehind()
    readSoon(readable(log, "a"))
    expect(mayReadNow()).toBe(false)
    for (let i = 0; i < 8; i++) await turn()
    expect(log).toEqual([])
    caughtUp()
    await turn()
    await turn()
    expect(log).toEqual(["a", "a received"])
    expect(mayReadNow()).toBe(true)
  })

  it("decode a slice for others from time to time, if a program never catches up", async () => {
    const log: string[] = []
    fellBehind()
    readSoon(readable(log, "a", 3))
    for (let i = 0; i < 100; i++) await turn()
    expect(log.filter((entry) => entry === "a")).toHaveLength(3)
    caughtUp()
  })
})
