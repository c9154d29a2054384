import { expect, test } from "vitest"

import { checkLz4Options } from "../../src/codec/options.js"
import { readCall, writeCall } from "../../src/transport/call-text.js"
import type { Call } from "../../src/transport/thread.js"

const dial = (options: object): Call => {
  const settings = checkLz4Options(options, -1)
  const destination = { host: "::1", port: 5555, source: undefined }
  return {
    id: 1,
    name: "dial",
    args: [2, { settings, destination, localPath: "/tmp/Ä\n/0" }],
    answer: "signal",
  }
}

test.each([
  ["no options", {}],
  ["a dictionary", { dictionary: Uint8Array.from({ length: 8192 }, (_, i) => i) }],
  ["a trained dictionary", { autoDictionary: { capacity: 1, trigger: 8192 } }],
  ["an adaptive level", { level: "adaptive", arenas: true, minCompressSize: 2 ** 53 - 1 }],
])("a call with %s is the same when it was text", (_, options) => {
  const call = dial(options)
  expect(readCall(writeCall(call))).toEqual(call)
})
