/** Follows a recording in progress, as long as it grows. */
import { GrowingFile } from "./growing-file.js"
import type { Followed } from "./protocol.js"
import { sleep } from "./steps.js"

/** Milliseconds between checks for more bytes. */
const POLL_MS = 100
/**
 * Failures in a row after which following ends. Some are normal after a computer wakes up, or while
 * others hold all connections. Each wait is twice as long as the one before: 6.3 s together.
 */
const ATTEMPTS = 7
/** Bytes to read at once from a file that was chosen. */
const READ_BYTES = 4 << 20

/** Appends to `file` the bytes that it lacks. Returns whether the recording has ended with them. */
type ReadMore = (file: GrowingFile, signal: AbortSignal) => Promise<boolean>

/** A reason to give up, for the user. */
class Ending extends Error {}

/** Begins to follow a recording until it ends, or the file that is returned is ended. */
export function follow({ name, url, handle }: Followed): GrowingFile {
  const file = new GrowingFile(name)
  const stop = new AbortController()
  void (async () => {
    while (!file.ended) await file.change()
    stop.abort()
  })()
  const readMore = url === undefined ? fromHandle(handle!) : fromServer(url)
  void run(file, readMore, stop.signal)
  return file
}

async function run(file: GrowingFile, readMore: ReadMore, signal: AbortSignal): Promise<void> {
  for (let failures = 0; !file.ended; ) {
    const before = file.size
    try {
      if (await readMore(file, signal)) return file.end()
      failures = 0
    } catch (error) {
      if (error instanceof Ending) return file.end(error.message)
      // A failure after new bytes is the first in a row.
      failures = file.size > before ? 1 : failures + 1
      if (failures === ATTEMPTS) return file.end((error as Error).message)
    }
    if (!file.ended) await sleep(POLL_MS * 2 ** Math.max(failures - 1, 0))
  }
}

/** Asks `zeromq-lz4 live`, which serves the page. */
function fromServer(url: string): ReadMore {
  return async (file, signal) => {
    let response: Response
    try {
      response = await fetch(`${url}?from=${file.size}`, { signal, cache: "no-store" })
    } catch {
      throw new Error(
        "zeromq-lz4 live does not answer: it has been stopped, or others hold all of its connections",
      )
    }
    if (response.status === 416) throw new Ending("the file was overwritten")
    if (!response.ok || !response.body) throw new Error(`the answer was ${response.status}`)
    const reader = response.body.getReader()
    for (;;) {
      const { done, value } = await reader.read()
      if (done) break
      file.append(value)
    }
    return response.headers.get("x-recording") === "ended"
  }
}

function fromHandle(handle: FileSystemFileHandle): ReadMore {
  return async (file) => {
    for (;;) {
      const newest = await handle.getFile()
      if (newest.size < file.size) throw new Ending("the file was overwritten")
      const bytes = await bytesOf(newest.slice(file.size, file.size + READ_BYTES))
      if (bytes.length === 0 || file.ended) return false
      file.append(bytes)
    }
  }
}

/** Returns the bytes of a piece; none if the file has changed since its size was read. */
async function bytesOf(piece: Blob): Promise<Uint8Array> {
  try {
    return new Uint8Array(await piece.arrayBuffer())
  } catch (error) {
    if ((error as Error).name === "NotReadableError") return new Uint8Array()
    throw error
  }
}
