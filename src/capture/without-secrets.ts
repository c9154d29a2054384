/** Takes the passwords out of a capture that is passed on. */
import { instancesWith } from "./instances.js"
import { placeOf } from "./packets/file-place.js"
import { fileType, SIGNATURE_BYTES } from "./packets/file-type.js"
import { hideBytes } from "./packets/hide-bytes.js"
import { StreamReader } from "./packets/stream-reader.js"
import { readWanted } from "./read-wanted.js"
import { SharedMemory } from "./streams/memory.js"
import { isCurveHello } from "./streams/password.js"
import { ZmtpConnection } from "./streams/zmtp-connection.js"

const NAME_BYTES = 5
const HELLO = Uint8Array.of(NAME_BYTES, 0x48, 0x45, 0x4c, 0x4c, 0x4f)
/** The heads of a command, without its length. */
const SHORT_COMMAND = 4
const LONG_COMMAND = 6
const LONG_HEAD_BYTES = 9
const SHORT_HEAD_BYTES = 2

/**
 * Returns copies of the files of a capture, of the same lengths, in which the passwords of PLAIN are
 * overwritten, and what cannot be read and might have one: commands that are not complete, and bytes
 * that were skipped in the search for the next frame. Everything else decodes as before.
 *
 * @throws CaptureFormatError if a file is not a capture.
 */
export function withoutSecrets(files: readonly Uint8Array[]): Uint8Array[] {
  const marks = files.map((file) => new Uint8Array(file.length))
  markDecoded(files, marks)
  return files.map((file, i) => hidden(new Uint8Array(file), marks[i] as Uint8Array))
}

/** Overwrites what is marked, and passwords where they are found without decoding. Returns `copy`. */
function hidden(copy: Uint8Array, marks: Uint8Array): Uint8Array {
  const type = () => fileType(copy.subarray(0, SIGNATURE_BYTES))
  const mark = (start: number, end: number) => markHellos(copy, marks, start, end)
  if (type() === "stream") {
    mark(0, copy.length)
    for (let i = 0; i < copy.length; i++) if (marks[i]) copy[i] = 0x2a
  } else
    hideBytes(copy, marks, () => type() as Exclude<ReturnType<typeof fileType>, "stream">, mark)
  return copy
}

function markDecoded(files: readonly Uint8Array[], marks: readonly Uint8Array[]): void {
  // Bytes that were skipped, as far as is known: frames may be found in them later.
  const skipped = files.map((file) => new Uint8Array(file.length))
  const fill = (all: readonly Uint8Array[], value: number, from: number, to: number) => {
    const { file, offset } = placeOf(from)
    all[file]?.fill(value, offset, offset + to - from)
  }
  const memory = new SharedMemory()
  const streams = new StreamReader(
    (tcp) =>
      new ZmtpConnection(
        {
          instanceOf: instancesWith(undefined),
          budgetBytes: -1,
          dictionary: undefined,
          emit: () => {},
          nextId: () => 1,
          memory,
          told: { isCut: false },
          leaveOut: () => {},
          ended: () => {},
          marks: {
            secret: (ranges) => eachRange(ranges, (from, to) => fill(marks, 1, from, to)),
            skipped: (from, to) => fill(skipped, 1, from, to),
            read: (from, to) => fill(skipped, 0, from, to),
          },
        },
        tcp,
      ),
    () => {},
    files.length,
  )
  readWanted(
    files,
    streams,
    (chunk, file) => streams.push(chunk, file),
    (file) => streams.endFile(file),
  )
  streams.end()
  for (const [file, all] of marks.entries())
    for (let i = 0; i < all.length; i++) if (skipped[file]?.[i]) all[i] = 1
}

function eachRange(ranges: readonly number[], visit: (from: number, to: number) => void): void {
  for (let i = 0; i < ranges.length; i += 2) {
    const from = ranges[i] as number
    visit(from, from + (ranges[i + 1] as number))
  }
}

/** Marks the passwords of HELLO frames in a packet, which need not be one that is read. */
function markHellos(file: Uint8Array, marks: Uint8Array, start: number, packetEnd: number): void {
  // Not searched behind the packet, nor marked again, which would take the square of the size.
  const searched = file.subarray(0, packetEnd)
  let markedEnd = start
  for (
    let at = searched.indexOf(NAME_BYTES, start);
    at >= 0;
    at = searched.indexOf(NAME_BYTES, at + 1)
  ) {
    if (HELLO.some((byte, i) => file[at + i] !== byte)) continue
    const body = frameBody(file, at)
    if (body === undefined) continue
    const end = Math.min(at + body, packetEnd)
    const user = at + HELLO.length
    if (isCurveHello(file.subarray(user, at + body))) continue
    const password = user + 1 + (file[user] ?? 0)
    const isWellFormed = password < end && password + 1 + (file[password] as number) === at + body
    marks.fill(1, Math.max(isWellFormed ? password + 1 : user, markedEnd), end)
    if (!isWellFormed) markedEnd = Math.max(markedEnd, end)
  }
}

/** Returns the length of the command whose body begins here; undefined if there is no such frame. */
function frameBody(file: Uint8Array, at: number): number | undefined {
  if (file[at - SHORT_HEAD_BYTES] === SHORT_COMMAND) return file[at - 1] as number
  if (file[at - LONG_HEAD_BYTES] !== LONG_COMMAND) return undefined
  let length = 0
  for (let i = at - LONG_HEAD_BYTES + 1; i < at; i++) length = length * 256 + (file[i] as number)
  return length <= 1 << 20 ? length : undefined
}
