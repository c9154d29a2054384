/** The option `wasm` of captures. */
import { readFileSync } from "node:fs"
import { expect, test } from "vitest"
import { decodeCapture, decodeFrames, readCapture } from "zeromq-lz4/capture"
import { Codec } from "zeromq-lz4/codec"

import { payload } from "../../../bench/payloads.mjs"
import { expectSameBytes } from "../../support/same-bytes.js"
import { concat } from "../../support/wire.js"
import { frame, handshake } from "../../support/zmtp.js"

const url = new URL("../../../dist/zeromq-lz4.wasm", import.meta.url)
const bytes = new Uint8Array(readFileSync(url))
const plain = payload("json", 1000)
const wire = frame(Codec.createSync().encodePart(plain))
const file = concat(handshake("PUSH"), wire)

test("may be bytes or a module, and for readCapture a URL", async () => {
  for (const wasm of [bytes, new WebAssembly.Module(bytes)]) {
    const [message] = decodeCapture(file, { wasm }).connections[0]!.messages
    expectSameBytes(message!.parts[0]!.plain, plain)
    const [again] = decodeFrames(wire, { transport: "lz4+tcp", wasm })
    expectSameBytes(again!.parts[0]!.plain, plain)
  }
  for (const wasm of [bytes, url]) {
    const read: (Uint8Array | undefined)[] = []
    for await (const event of readCapture(new Blob([new Uint8Array(file)]), { wasm }))
      if (event.type === "message") read.push(event.message.parts[0]!.plain)
    expect(read.length).toBe(1)
    expectSameBytes(read[0], plain)
  }
})

test("the module that a reader is given is checked", async () => {
  expect(() => decodeCapture(file, { wasm: 5 as never })).toThrow("wasm must be")
  expect(() => decodeCapture(file, { wasm: url })).toThrow("a URL needs")
  const missing = new URL("missing.wasm", import.meta.url)
  const events = readCapture(new Blob([new Uint8Array(file)]), { wasm: missing })
  await expect(events.next()).rejects.toMatchObject({ code: "ERR_LZ4_WASM" })
})
