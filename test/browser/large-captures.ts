/** Captures of any size, written to a file piece by piece. */
import { closeSync, openSync, writeSync } from "node:fs"
import { Codec } from "zeromq-lz4/codec"
import { conversation, framesOf, pcapFile, wrapped } from "../support/capture-files.js"
import { concat } from "../support/wire.js"
import { handshake, message } from "../support/zmtp.js"

const FILE_HEAD_BYTES = 24
/** Bytes of a connection that are put into packets at once. */
const PIECE_BYTES = 1 << 20

/** A connection of PUSH to PULL, from its beginning, whose messages have the plaintext of `parts`. */
export function writeCapture(file: string, parts: Iterable<Uint8Array>): { messages: number } {
  using codec = Codec.createSync()
  const descriptor = openSync(file, "w")
  const next = { client: 1000, server: 2000 }
  let time = 1_700_000_000_000_000_000n
  let messages = 0
  let waiting: Uint8Array[] = [handshake("PUSH")]
  let waitingBytes = 0

  const write = (bytes: Uint8Array) => writeSync(descriptor, bytes)
  const flush = () => {
    const begun = time === 1_700_000_000_000_000_000n
    const bytes = concat(...waiting)
    const packets = conversation(
      [["client", bytes], ...(begun ? [["server", handshake("PULL")] as const] : [])],
      { initial: { ...next }, begun, time },
    )
    // A conversation begins behind its initial numbers, whether it has a handshake or not.
    next.client = wrapped(next.client + bytes.length)
    if (begun) next.server = wrapped(next.server + handshake("PULL").length)
    time += BigInt(packets.length) * 1000n
    const frames = pcapFile(framesOf(packets))
    write(begun ? frames : frames.subarray(FILE_HEAD_BYTES))
    waiting = []
    waitingBytes = 0
  }

  for (const part of parts) {
    const frame = message(codec.encodePart(part))
    waiting.push(frame)
    waitingBytes += frame.length
    messages++
    if (waitingBytes > PIECE_BYTES) flush()
  }
  flush()
  closeSync(descriptor)
  return { messages }
}
