/**
 * The plaintexts of the vectors: the same bytes that test/vectors/plaintexts.py makes in Python.
 * Change both together.
 */
import { createRandom, type Random } from "../../bench/random.mjs"

export type Kind = "text" | "json" | "random" | "zeros" | "compressed"

const WORDS = (
  "the message that was sent before this one carried a topic and some bytes which nobody " +
  "had asked for so every reader on that socket had to wait until its queue drained again " +
  "while another peer kept writing small frames into what looked like an idle connection"
).split(" ")

const encoder = new TextEncoder()

/** The bytes of an endless plaintext, piece by piece: one by one they would take several times as long. */
type Stream = Generator<Uint8Array, never>

function* lines(random: Random, make: () => string): Stream {
  let recent: Uint8Array[] = []
  for (;;) {
    let line: Uint8Array
    if (recent.length === 64 && random.below(4) > 0) {
      line = random.pick(recent)
    } else {
      line = encoder.encode(make())
      recent = [line, ...recent.slice(0, 63)]
    }
    yield line
  }
}

function text(random: Random): Stream {
  return lines(random, () => {
    const words = Array.from({ length: 4 + random.below(12) }, () => random.pick(WORDS))
    return `${words.join(" ")}.\n`
  })
}

function json(random: Random): Stream {
  return lines(random, () => {
    // A template evaluates from left to right, as Python's % does.
    const id = random.below(1_000_000)
    const level = random.pick(["debug", "info", "warn", "error"])
    const path = `/v1/${random.pick(WORDS)}/${random.below(100_000)}`
    const ms = random.below(3000)
    const tags = `["${random.pick(WORDS)}","${random.pick(WORDS)}"]`
    return `{"id":${id},"level":"${level}","path":"${path}","ms":${ms},"tags":${tags}}\n`
  })
}

const PIECE_BYTES = 4096

function* noise(random: Random): Stream {
  for (;;) yield Uint8Array.from({ length: PIECE_BYTES }, () => random.next() >>> 24)
}

function* zeros(): Stream {
  for (;;) yield new Uint8Array(PIECE_BYTES)
}

/** Generates text compressed by LZW with 12-bit codes, as in old GIFs and compress(1). */
function* compressed(random: Random): Stream {
  const codes = new Map<number, number>()
  let prefix = -1
  let high = -1
  for (const line of text(random)) {
    const made: number[] = []
    for (const byte of line) {
      const key = prefix * 256 + byte
      const code = codes.get(key)
      if (prefix < 0) {
        prefix = byte
      } else if (code !== undefined) {
        prefix = code
      } else {
        // Two 12-bit codes make three bytes.
        if (high < 0) {
          high = prefix
        } else {
          made.push(high >> 4, ((high & 15) << 4) | (prefix >> 8), prefix & 255)
          high = -1
        }
        if (codes.size === 4096 - 256) codes.clear()
        codes.set(key, 256 + codes.size)
        prefix = byte
      }
    }
    yield Uint8Array.from(made)
  }
  throw new Error("text() never ends")
}

const STREAMS: Record<Kind, (random: Random) => Stream> = {
  text,
  json,
  random: noise,
  zeros,
  compressed,
}

function take(stream: Stream, size: number): Uint8Array {
  const bytes = new Uint8Array(size)
  for (let filled = 0; filled < size; ) {
    const piece = stream.next().value.subarray(0, size - filled)
    bytes.set(piece, filled)
    filled += piece.length
  }
  return bytes
}

const longest = new Map<Kind, Uint8Array>()

/** Returns the first `size` bytes of a stream, so that all sizes begin alike. */
export function plaintext(kind: Kind, size: number): Uint8Array {
  let bytes = longest.get(kind)
  if (bytes === undefined || bytes.length < size) {
    bytes = take(STREAMS[kind](createRandom(kind)), size)
    longest.set(kind, bytes)
  }
  return bytes.slice(0, size)
}

/** Returns the 2 KiB dictionary of the vectors: other text and JSON. */
export function vectorDictionary(): Uint8Array {
  const bytes = new Uint8Array(2048)
  bytes.set(take(text(createRandom("text dictionary")), 1024))
  bytes.set(take(json(createRandom("json dictionary")), 1024), 1024)
  return bytes
}
