// The page of test/browser: ?bytes=N encodes and decodes a text of that size, with the embedded
// module or with ?wasm=URL, and shows what came of it.
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
  const same = isEqual(codec.decodePart(wire), plain)
  return { plainBytes: plain.length, wireBytes: wire.length, sentinel, same }
}

roundTrip()
  .catch(({ name, message }) => ({ error: name, message }))
  .then((result) => {
    document.querySelector("#result").textContent = JSON.stringify(result)
  })
