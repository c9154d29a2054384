import { setImmediate as turn } from "node:timers/promises"
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest"
import type { Readable } from "../../../src/transport/read-order.js"
import {
  isIdle,
  mayReadNow,
  readNow,
  readSoon,
  TURN_MAX_MS,
} from "../../../src/transport/read-turns.js"

let nowMs = 0

beforeEach(async () => {
  nowMs = performance.now()
  vi.spyOn(performance, "now").mockImplementation(() => nowMs)
  while (!isIdle()) await turn()
})

afterEach(() => {
  vi.restoreAllMocks()
})

/** A connection with `slices` slices to decode, each of which takes `ms`. It logs its calls. */
class Slices implements Readable {
  shareMs: number | undefined = 0
  isBehind = false
  left: number
  readonly #log: string[]
  readonly #name: string
  readonly #ms: number

  constructor(log: string[], name: string, slices = 1, ms = 0) {
    this.#log = log
    this.#name = name
    this.left = slices
    this.#ms = ms
  }

  readSlice(): boolean {
    nowMs += this.#ms
    this.#log.push(this.#name)
    Promise.resolve().then(() => this.#log.push(`${this.#name} received`))
    return --this.left > 0
  }
}

const slicesOf = (log: readonly string[]) => log.filter((entry) => !entry.includes(" "))

describe("turns of decoding", () => {
  it("let programs receive the messages of a slice before the next is decoded", async () => {
    const log: string[] = []
    readSoon(new Slices(log, "a", 2))
    readSoon(new Slices(log, "b"))
    expect(log).toEqual([])
    await turn()
    expect(log).toEqual(["a", "a received", "b", "b received", "a", "a received"])
  })

  it("give each connection the same time", async () => {
    const log: string[] = []
    const long = TURN_MAX_MS / 2
    readSoon(new Slices(log, "long", 20, long))
    readSoon(new Slices(log, "short", 20, long / 4))
    while (slicesOf(log).length < 16) await turn()
    const first = slicesOf(log).slice(0, 16)
    expect(first.filter((name) => name === "short").length).toBeGreaterThanOrEqual(12)
    while (!isIdle()) await turn()
  })

  it("decode what a quiet connection received at once, whoever is in line", async () => {
    const log: string[] = []
    const quiet = new Slices(log, "quiet", 3)
    readNow(quiet)
    const floods = [1, 2, 3].map((n) => new Slices(log, `flood ${n}`, 10, TURN_MAX_MS))
    for (const flood of floods) readSoon(flood)
    for (let i = 0; i < 6; i++) await turn()
    expect(isIdle()).toBe(false)
    expect(mayReadNow(quiet)).toBe(true)
    for (const flood of floods) expect(mayReadNow(flood)).toBe(false)
    // As long as that does not take too much time of the others.
    readNow(new Slices(log, "quiet", 1, TURN_MAX_MS))
    expect(mayReadNow(quiet)).toBe(false)
    readSoon(quiet)
    const before = slicesOf(log).length
    await turn()
    expect(slicesOf(log)[before]).toBe("quiet")
    while (!isIdle()) await turn()
  })

  it("do not let a quiet connection go before another that used less", async () => {
    const log: string[] = []
    readSoon(new Slices(log, "flood", 10, TURN_MAX_MS))
    for (let i = 0; i < 6; i++) await turn()
    expect(isIdle()).toBe(false)
    const asking = new Slices(log, "asking", 1, TURN_MAX_MS / 100)
    expect(mayReadNow(asking)).toBe(true)
    readNow(asking)
    readSoon(new Slices(log, "waiting"))
    expect(mayReadNow(asking)).toBe(false)
    await turn()
    expect(slicesOf(log)).toContain("waiting")
    expect(mayReadNow(asking)).toBe(true)
    while (!isIdle()) await turn()
  })

  it("do not let new connections go first", async () => {
    const log: string[] = []
    readSoon(new Slices(log, "flood", 10, TURN_MAX_MS))
    await turn()
    const newcomer = new Slices(log, "newcomer")
    newcomer.shareMs = undefined
    expect(mayReadNow(newcomer)).toBe(false)
    readSoon(newcomer)
    log.length = 0
    for (let i = 0; i < 3; i++) await turn()
    expect(slicesOf(log).indexOf("newcomer")).toBeGreaterThan(0)
    while (!isIdle()) await turn()
  })

  it("wait for a program that is behind, but not with the messages of others", async () => {
    const log: string[] = []
    const behind = new Slices(log, "behind", 1, TURN_MAX_MS)
    behind.isBehind = true
    behind.shareMs = Number.MAX_SAFE_INTEGER / 2 // it has not been quiet
    const other = new Slices(log, "other", 4, TURN_MAX_MS)
    other.shareMs = behind.shareMs
    readSoon(behind)
    readSoon(other)
    expect(mayReadNow(behind)).toBe(false)
    for (let i = 0; i < 12; i++) await turn()
    expect(slicesOf(log)).toEqual(["other", "other", "other", "other"])
    behind.isBehind = false
    while (!isIdle()) await turn()
    expect(slicesOf(log)).toEqual(["other", "other", "other", "other", "behind"])
  })

  it("decode a slice from time to time for a program that never catches up", async () => {
    const log: string[] = []
    const behind = new Slices(log, "a", 3, TURN_MAX_MS)
    behind.isBehind = true
    behind.shareMs = Number.MAX_SAFE_INTEGER / 2
    readSoon(behind)
    for (let i = 0; i < 100; i++) await turn()
    expect(slicesOf(log)).toHaveLength(3)
  })
})
