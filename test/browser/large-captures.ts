/** Writes captures of any size to a file, piece by piece. */
import { closeSync, openSync, writeSync } from "node:fs"
import { Codec } from "zeromq-lz4/codec"
import { logEvents } from "../../bench/payloads.mjs"
import {
  conversation,
  framesOf,
  pcapFile,
  type Said,
  START,
  wrapped,
} from "../support/capture-files.js"
import { concat } from "../support/wire.js"
import { handshake, message } from "../support/zmtp.js"

const FILE_HEAD_BYTES = 24
/** Bytes of a connection that are split into packets at once. */
const PIECE_BYTES = 1 << 20

/** Writes a connection of PUSH to PULL, from its beginning, with `parts` as messages. */
export function writeCapture(file: string, parts: Iterable<Uint8Array>): void {
  using codec = Codec.createSync()
  const descriptor = openSync(file, "w")
  const next = { client: 1000, server: 2000 }
  let time = START
  const write = (begun: boolean, ...said: Said) => {
    const packets = conversation(said, { initial: { ...next }, begun, time })
    // It begins after its initial sequence numbers.
    for (const [from, bytes] of said) next[from] = wrapped(next[from] + bytes.length)
    time += BigInt(packets.length) * 1000n
    const bytes = pcapFile(framesOf(packets))
    writeSync(descriptor, begun ? bytes : bytes.subarray(FILE_HEAD_BYTES))
  }

  write(true, ["client", handshake("PUSH")], ["server", handshake("PULL")])
  let waiting: Uint8Array[] = []
  let waitingBytes = 0
  const flush = () => {
    write(false, ["client", concat(...waiting)])
    waiting = []
    waitingBytes = 0
  }
  // Most are the same array again.
  const frames = new WeakMap<Uint8Array, Uint8Array>()
  for (const part of parts) {
    const frame = frames.get(part) ?? message(codec.encodePart(part))
    frames.set(part, frame)
    waiting.push(frame)
    waitingBytes += frame.length
    if (waitingBytes > PIECE_BYTES) flush()
  }
  flush()
  closeSync(descriptor)
}

/** Writes a capture of messages of 8 log events each, all different, so that they compress as such messages do. */
export function writeLogCapture(file: string, messages: number): void {
  const events = logEvents(1)
  const lines = Array.from({ length: 4000 }, () => events.next().value as string)
  const text = new TextEncoder()
  const parts = Array.from({ length: 3900 }, (_, i) =>
    text.encode(lines.slice(i, i + 8).join("\n")),
  )
  writeCapture(
    file,
    (function* () {
      for (let i = 0; i < messages; i++) yield parts[(i * 7) % parts.length] as Uint8Array
    })(),
  )
}
