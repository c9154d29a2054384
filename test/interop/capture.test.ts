/** The wire bytes of a session with pyomq, parsed without the codec. */
import { expect, test } from "vitest"
import { Dealer } from "zeromq-lz4"

import { sha256 } from "../support/hash.js"
import { vectorDictionary } from "../support/plaintexts.js"
import { eventually, use } from "../support/sockets.js"
import { declaredSize, dictionaryPart, formOf } from "../support/wire.js"
import {
  commandName,
  greeting,
  messagesOf,
  type ParsedStream,
  parseStream,
} from "../support/zmtp.js"
import { Capture } from "./capture.js"
import { NO_ARENAS } from "./python.js"
import { decodeInPython } from "./python-lz4.js"
import { PythonPeer } from "./python-peer.js"
import { duplexAll, messages } from "./stream.js"

const GIB = 2 ** 30
const stream = { name: "captured", count: 300 }
const plaintexts = [...messages(stream)]
  .flat()
  .map((part) => ({ size: part.length, sha256: sha256(part) }))
const ours = vectorDictionary()
const theirs = vectorDictionary().reverse()

test.each([
  { threshold: 512, dictionaries: undefined },
  { threshold: 128, dictionaries: { ours, theirs } },
])("the wire bytes follow RFC.md in both directions; threshold: $threshold", async (session) => {
  const { threshold, dictionaries } = session
  const dealer = use(new Dealer())
  // The default level may choose not to compress.
  const options = { level: 0 as const, ...(dictionaries && { dictionary: dictionaries.ours }) }
  await dealer.bind("lz4+tcp://127.0.0.1:*", options)
  const endpoint = dealer.lastEndpoint as string
  await using capture = await Capture.start(Number(new URL(endpoint).port))
  await using peer = await PythonPeer.start({
    module: "pyomq",
    type: "DEALER",
    connect: endpoint,
    // Python's lz4 does not unpack arenas. To a peer that sends none, we send none either.
    environment: NO_ARENAS,
    ...(dictionaries && { dictionary: dictionaries.theirs }),
  })
  await Promise.all([
    duplexAll(
      stream,
      (parts) => dealer.send([...parts] as Buffer[]),
      () => dealer.receive(),
    ),
    peer.do({ do: "echo", stream }),
  ])

  const count = stream.count + (dictionaries ? 1 : 0)
  const directions = await eventually(() => {
    const { fromClient, fromServer } = capture.wire()
    const seen = { ours: parseStream(fromServer), theirs: parseStream(fromClient) }
    const complete = ({ frames }: ParsedStream) => messagesOf(frames).length === count
    return complete(seen.ours) && complete(seen.theirs) && seen
  })

  for (const side of ["ours", "theirs"] as const) {
    const { greeting: seen, frames } = directions[side]
    // Section 3.1: an ordinary greeting and handshake. The padding of the signature is arbitrary.
    expect(seen.subarray(9, 32)).toEqual(greeting().subarray(9, 32))
    expect(frames.slice(0, 1).map(commandName)).toEqual(["READY"])

    // Section 4: another LZ4 implementation decodes what was sent.
    const wire = messagesOf(frames)
    const decoded = decodeInPython(wire.flat(), GIB)
    expect(decoded.map(({ size, sha256 }) => ({ size, sha256 }))).toEqual(plaintexts)

    // Section 4.5: one dictionary, in its own message, before all parts.
    if (dictionaries) expect(wire.shift()).toEqual([dictionaryPart(dictionaries[side])])
    const parts = wire.flat()
    expect(new Set(parts.map(formOf))).toEqual(new Set(["plain", "LZ4B"]))

    // Section 5.1: LZ4B only if it is shorter than plain, and from the threshold on.
    const compressed = parts.filter((part) => formOf(part) === "LZ4B")
    const sizes = compressed.map((part) => Number(declaredSize(part)))
    for (const [i, part] of compressed.entries())
      expect(part.length).toBeLessThan((sizes[i] as number) + 4)
    if (side === "ours") expect(Math.min(...sizes)).toBe(threshold)
  }
})
