/** Streams for the transcoder, and ways to feed them to it. */

import type { CodecOptions, Traffic } from "zeromq-lz4/codec"
import { Codec } from "zeromq-lz4/codec"
import { createRandom } from "../../bench/random.mjs"
import type { Instance } from "../../src/codec/instance.js"
import { checkCodecOptions } from "../../src/codec/options.js"
import { Transcoder } from "../../src/codec/transcoder.js"
import { concat, dictionaryPart } from "./wire.js"
import { frame, MORE } from "./zmtp.js"

// -- Contents of a stream ----------------------------------------------------------

/** A greeting, a command, or other bytes that pass unchanged. */
export interface Verbatim {
  verbatim: Uint8Array
}

export interface Part {
  plain: Uint8Array
  more: boolean
}

export type Item = Verbatim | Part

export const verbatim = (bytes: Uint8Array): Verbatim => ({ verbatim: bytes })

export const message = (...parts: readonly Uint8Array[]): Part[] =>
  parts.map((plain, i) => ({ plain, more: i < parts.length - 1 }))

export interface Streams {
  plain: Uint8Array
  wire: Uint8Array
  traffic: Traffic
}

/** Returns the same stream on both sides of a transcoder. Codec encodes the parts. */
export function streamsOf(items: readonly Item[], options: CodecOptions = {}): Streams {
  using codec = Codec.createSync(options)
  const plain: Uint8Array[] = []
  const wire: Uint8Array[] = []
  const traffic = { messages: 0, plainBytes: 0, wireBytes: 0 }
  let dictionary = options.dictionary

  const addWire = (part: Uint8Array, flags: number) => {
    wire.push(frame(part, flags))
    traffic.wireBytes += part.length
  }
  for (const item of items) {
    if ("verbatim" in item) {
      plain.push(item.verbatim)
      wire.push(item.verbatim)
      continue
    }
    if (dictionary) addWire(dictionaryPart(dictionary), 0)
    dictionary = undefined
    const flags = item.more ? MORE : 0
    plain.push(frame(item.plain, flags))
    addWire(codec.encodePart(item.plain), flags)
    traffic.plainBytes += item.plain.length
    if (!item.more) traffic.messages++
  }
  return { plain: concat(...plain), wire: concat(...wire), traffic }
}

// -- Ways to feed a stream ---------------------------------------------------------

export interface Feed {
  chunks(stream: Uint8Array): Iterable<Uint8Array>
  /** Whether output is taken piece by piece, as by a socket that is full each time. */
  reluctant: boolean
}

export const atOnce: Feed = { chunks: (stream) => [stream], reluctant: false }

export const byteByByte: Feed = { chunks: (stream) => cut(stream, () => 1), reluctant: false }

/** Returns a feed with chunks of random sizes, small and large. Names of tests contain the seed. */
export function atRandom(seed: string): Feed {
  return {
    chunks(stream) {
      const random = createRandom(seed)
      return cut(stream, () => random.below(random.pick([4, 40, 400, 40_000, 400_000])))
    },
    reluctant: true,
  }
}

function* cut(stream: Uint8Array, next: () => number): Iterable<Uint8Array> {
  for (let at = 0; at < stream.length; ) {
    const end = Math.min(stream.length, at + next())
    yield stream.subarray(at, end)
    at = end
  }
}

// -- Feeding a stream --------------------------------------------------------------

export interface Outcome {
  output: Uint8Array
  traffic: Traffic
  hasDictionary: boolean
  /** The error that the transcoder threw. */
  error: Error | undefined
}

export const open = {
  sending: (instance: Instance, options: CodecOptions = {}): Transcoder =>
    Transcoder.sending(instance, checkCodecOptions(options)),
  receiving: (instance: Instance, maxMessageSize = -1): Transcoder =>
    Transcoder.receiving(instance, checkCodecOptions({ maxMessageSize })),
}

/** Runs a stream through a transcoder and closes it. */
export function run(transcoder: Transcoder, stream: Uint8Array, feed: Feed): Outcome {
  const pieces: Uint8Array[] = []
  let full = false
  const sink = {
    take: (piece: Uint8Array) => {
      pieces.push(Buffer.from(piece))
      full = feed.reluctant
      return !full
    },
  }
  const traffic = { messages: 0, plainBytes: 0, wireBytes: 0 }
  let error: Error | undefined
  try {
    let lent = new Uint8Array(0)
    for (const chunk of feed.chunks(stream)) {
      if (lent.length !== chunk.length) lent = new Uint8Array(chunk.length)
      lent.set(chunk)
      transcoder.transcode(lent, sink)
      lent.fill(0xa5) // the caller may reuse its memory
      while (full) {
        full = false
        transcoder.resume(sink)
      }
    }
  } catch (thrown) {
    error = thrown as Error
  }
  transcoder.count(traffic)
  const { hasDictionary } = transcoder
  transcoder.close()
  return { output: Buffer.concat(pieces), traffic, hasDictionary, error }
}
