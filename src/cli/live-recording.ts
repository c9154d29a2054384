/** A recording in progress, which any number of readers read from its beginning. */
import { mkdtempSync, rmSync } from "node:fs"
import { type FileHandle, open, stat } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileError, InputError, temporaryFileError } from "./errors.js"
import { GZIP_MAGIC, readChunks } from "./input.js"

export interface LiveRecording {
  /** Its bytes, which are read at any place up to its size. */
  readonly handle: FileHandle
  /** Returns the number of bytes that there are, and whether more may follow. */
  state(): Promise<{ bytes: number; ended: boolean }>
  /** Resolves at its end; rejects with an InputError if the input fails. */
  readonly ended: Promise<void>
  close(): Promise<void>
}

/**
 * Opens a recording: a file that grows, or what comes from standard input ("-") or a pipe.
 *
 * @throws InputError if that cannot be read.
 */
export async function openRecording(file: string): Promise<LiveRecording> {
  if (file === "-") return kept(file)
  try {
    const stats = await stat(file)
    if (stats.isDirectory()) throw Object.assign(new Error(), { code: "EISDIR" })
    // A pipe is opened once, when it is read.
    if (stats.isFile()) return growing(await uncompressed(file))
  } catch (error) {
    throw error instanceof InputError ? error : fileError(file, error)
  }
  return kept(file)
}

async function uncompressed(file: string): Promise<FileHandle> {
  const handle = await open(file)
  try {
    const head = Buffer.alloc(GZIP_MAGIC.length)
    await handle.read(head, 0, head.length, 0)
    if (!head.equals(GZIP_MAGIC)) return handle
    throw new InputError(`${file} is compressed: gunzip -c FILE | zeromq-lz4 live -`)
  } catch (error) {
    await handle.close()
    throw error
  }
}

/** Follows a file in place. It has no end, because nothing shows that its writer is done. */
function growing(handle: FileHandle): LiveRecording {
  return {
    handle,
    state: async () => ({ bytes: (await handle.stat()).size, ended: false }),
    ended: new Promise(() => {}),
    close: () => handle.close(),
  }
}

/**
 * Copies what can be read only once to a temporary file: it may be too long for memory. Only this user
 * can read the file, and its name is removed at once, so nothing is left behind whatever happens.
 */
async function kept(file: string): Promise<LiveRecording> {
  const { handle, remove } = await temporaryFile()
  const stop = new AbortController()
  const state = { bytes: 0, ended: false }
  async function copy(): Promise<void> {
    try {
      for await (const chunk of readChunks(file, { signal: stop.signal })) {
        await write(handle, chunk, state.bytes)
        state.bytes += chunk.length
      }
    } finally {
      state.ended = true
    }
  }
  const ended = copy()
  ended.catch(() => {}) // whoever awaits it gets the error
  return {
    handle,
    state: async () => ({ ...state }),
    ended,
    async close() {
      stop.abort()
      await ended.catch(() => {})
      await handle.close()
      remove()
    },
  }
}

async function temporaryFile(): Promise<{ handle: FileHandle; remove(): void }> {
  try {
    const directory = mkdtempSync(join(tmpdir(), "zeromq-lz4-live-"))
    const remove = () => rmSync(directory, { recursive: true, force: true })
    const handle = await open(join(directory, "recording"), "wx+", 0o600)
    if (process.platform !== "win32") remove()
    return { handle, remove }
  } catch (error) {
    throw temporaryFileError(error)
  }
}

async function write(handle: FileHandle, bytes: Buffer, place: number): Promise<void> {
  try {
    for (let at = 0; at < bytes.length; )
      at += (await handle.write(bytes, at, bytes.length - at, place + at)).bytesWritten
  } catch (error) {
    throw fileError("the temporary file of the recording", error)
  }
}
