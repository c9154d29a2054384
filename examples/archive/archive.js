/**
 * An archive is a file of messages: each is its length and its parts, each part a byte that says
 * whether it is compressed, its length, and its bytes as they were on the wire.
 */
import { open } from "node:fs/promises"
import { CompressedPart } from "zeromq-lz4"

const [PLAIN, COMPRESSED] = [0, 1]
const MESSAGE_MAX_BYTES = 64 << 20
const PART_HEAD_BYTES = 5

/** Appends a message to a file. Its parts are Buffers or CompressedParts. */
export async function append(file, parts) {
  const chunks = parts.flatMap((part) => {
    const bytes = part instanceof CompressedPart ? part.bytes : part
    const head = Buffer.alloc(PART_HEAD_BYTES)
    head.writeUInt8(part instanceof CompressedPart ? COMPRESSED : PLAIN)
    head.writeUInt32LE(bytes.length, 1)
    return [head, bytes]
  })
  const length = Buffer.alloc(4)
  length.writeUInt32LE(chunks.reduce((sum, { length }) => sum + length, 0))
  await file.writeFile(Buffer.concat([length, ...chunks]))
}

/**
 * Yields the messages of an archive, as send() takes them.
 *
 * @throws Error if it ends in the middle of a message, as when its recorder was interrupted, and if a
 * part is damaged.
 */
export async function* messagesOf(path, maxPlainLength) {
  const file = await open(path)
  try {
    for (;;) {
      const head = await read(file, 4)
      if (head.length === 0) return
      const length = head.length === 4 ? head.readUInt32LE() : 0
      if (length > MESSAGE_MAX_BYTES) throw new Error(`${path} has a message of ${length} bytes`)
      const message = await read(file, length)
      if (head.length < 4 || message.length < length)
        throw new Error(`${path} ends in the middle of a message`)
      yield [...partsOf(message, maxPlainLength)]
    }
  } finally {
    await file.close()
  }
}

/** Reads from where the file is; fewer bytes only at its end. */
async function read(file, length) {
  const { buffer, bytesRead } = await file.read(Buffer.alloc(length), 0, length)
  return buffer.subarray(0, bytesRead)
}

function* partsOf(message, maxPlainLength) {
  for (let at = 0; at < message.length; ) {
    const start = at + PART_HEAD_BYTES
    const end = start + message.readUInt32LE(at + 1)
    if (end > message.length) throw new Error("a part ends after its message")
    const bytes = message.subarray(start, end)
    yield message[at] === COMPRESSED ? CompressedPart.from(bytes, maxPlainLength) : bytes
    at = end
  }
}
