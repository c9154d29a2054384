import * as v8 from "node:v8"
import * as vm from "node:vm"
import { afterEach, describe, expect, test, vi } from "vitest"
import { collect } from "../../../src/sockets/event-loop/settle.js"

const OUTSIDE_BYTES = 2 ** 23

let outsideBytes = OUTSIDE_BYTES

/** Has `collect()` find much memory outside the heap, and calls `exposed` each time it has set V8's flag. */
function collecting(exposed: () => void): void {
  vi.spyOn(process, "getBuiltinModule").mockImplementation(((id: string) => {
    if (id !== "node:v8") return vm
    return {
      getHeapStatistics: () => {
        outsideBytes += OUTSIDE_BYTES
        return { external_memory: outsideBytes, used_heap_size: 1 }
      },
      setFlagsFromString: (flag: string) => {
        v8.setFlagsFromString(flag)
        if (flag === "--expose-gc") exposed()
      },
    }
  }) as typeof process.getBuiltinModule)
  vi.stubGlobal("gc", undefined)
}

describe("collecting garbage in Node 20", () => {
  afterEach(() => {
    vi.restoreAllMocks()
    vi.unstubAllGlobals()
  })

  // V8's flags are those of the process: a program with worker threads ended with "gc is not defined".
  test("tries again if another thread takes V8's flag back", () => {
    let times = 0
    collecting(() => {
      if (++times < 3) v8.setFlagsFromString("--no-expose-gc")
    })
    collect()
    expect(times).toBe(3)
  })

  test("gives up if it never gets V8's function", () => {
    let times = 0
    collecting(() => {
      times++
      v8.setFlagsFromString("--no-expose-gc")
    })
    collect()
    expect(times).toBe(10)
  })
})
