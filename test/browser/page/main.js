// The page of test/browser: ?bytes=N encodes and decodes a text of that size, with the embedded
// module or with ?wasm=URL, and shows what came of it; ?capture reads a capture instead.
import { readCapture } from "zeromq-lz4/capture"
import { Codec } from "zeromq-lz4/codec"

const query = new URLSearchParams(location.search)

/** Text of `bytes` bytes, never all in memory as a string. */
function makeText(bytes) {
  const text = new Uint8Array(bytes)
  const line = new TextEncoder().encode("what a page sends over the wire. ")
  text.set(line.subarray(0, bytes))
  for (let filled = line.length; filled < bytes; filled *= 2) text.copyWithin(filled, 0, filled)
  return text
}

/** A loop: with a callback for every byte a gigabyte takes ten times as long. */
function isEqual(a, b) {
  if (a.length !== b.length) return false
  for (let i = 0; i < a.length; i++) if (a[i] !== b[i]) return false
  return true
}

async function roundTrip() {
  const wasm = query.get("wasm")
  const codec = await Codec.create(wasm ? { wasm: new URL(wasm, location.href) } : {})
  const plain = makeText(Number(query.get("bytes")))
  const wire = codec.encodePart(plain)
  const sentinel = new TextDecoder().decode(wire.subarray(0, 4))
  let same = isEqual(codec.decodePart(wire), plain)
  // Not a gigabyte more than the page needs.
  if (plain.length <= 1 << 24) same &&= isEqual(decodeInto(codec, wire), plain)
  return { plainBytes: plain.length, wireBytes: wire.length, sentinel, same }
}

/** The same into an array of the page's. */
function decodeInto(codec, wire) {
  const target = new Uint8Array(codec.decodedSize(wire) + 1)
  return target.subarray(0, codec.decodeInto(wire, target))
}

/** Reads the bytes that a side sends: a greeting of ZMTP 3.1 and one message. */
async function capture() {
  const greeting = new Uint8Array(64)
  greeting.set([0xff, 0, 0, 0, 0, 0, 0, 0, 1, 0x7f, 3, 1, 0x4e, 0x55, 0x4c, 0x4c])
  const codec = await Codec.create()
  const part = codec.encodePart(makeText(1000))
  const file = new Blob([greeting, Uint8Array.of(0, part.length), part])
  const events = []
  for await (const { type, message } of readCapture(file)) {
    const [{ kind, plain } = {}] = message?.parts ?? []
    events.push(message ? [type, kind, isEqual(plain, makeText(1000))] : [type])
  }
  return { events }
}

const task = query.has("capture") ? capture : roundTrip
task()
  .catch(({ name, message }) => ({ error: name, message }))
  .then((result) => {
    document.querySelector("#result").textContent = JSON.stringify(result)
  })
