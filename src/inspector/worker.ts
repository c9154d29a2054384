/** The page's worker: reads a capture, and answers the page's calls. */
import { provideZstd } from "../codec/formats.js"
import { zstd } from "../codec/zstd/format.js"
import { decodeText } from "./decode-text.js"
import { follow } from "./follow.js"
import type { GrowingFile } from "./growing-file.js"
import { Loading } from "./loading.js"
import { PageFile } from "./page-file.js"
import type { Calls, Followed, Reply, Request, State } from "./protocol.js"

// The page has its module, and loads nothing.
provideZstd(zstd)

let loading: Loading | undefined
/** The files that were chosen; none if a recording is followed. */
let chosen: readonly PageFile[] = []
let followed: { id: number; file: GrowingFile } | undefined

const current = (): Loading => {
  if (!loading) throw new Error("No capture is open.")
  return loading
}

const calls: { [Name in keyof Calls]: (...args: Parameters<Calls[Name]>) => unknown } = {
  open(capture, files, secrets, filter) {
    void closeAll(loading, chosen)
    chosen = "id" in files ? [] : files.map((file) => new PageFile(file))
    if (!("id" in files)) endFollowed()
    const captured = "id" in files ? [fileOf(files)] : chosen
    loading = new Loading(capture, captured, secrets, (state: State) => reply({ state }))
    loading.filter(filter)
    void loading.run()
  },
  cancel: () => current().cancel(),
  filter: (text) => current().filter(text),
  sort: (sorting) => current().sort(sorting),
  save: (form) => current().save(form),
  reports: () => current().reports(),
  rows: (view, from, count) => current().shown.rows(view, from, count),
  place: (view, row) => current().shown.place(view, row),
  details: (view, place) => current().details(view, place),
  bytes: (part, which, from, to) => current().opened.bytes(part, which, from, to),
  json: (part, characters) => current().opened.json(part, characters),
  decode: decodeText,
  download: (part, which) => current().opened.blob(part, which),
}

/** Ends an earlier capture, and gives back its files once nothing reads them. */
async function closeAll(earlier: Loading | undefined, files: readonly PageFile[]): Promise<void> {
  await earlier?.close()
  for (const file of files) file.close()
}

/** Returns what has come of a recording in progress, which is opened again with another dictionary. */
function fileOf(recording: Followed): GrowingFile {
  if (followed?.id !== recording.id) {
    endFollowed()
    followed = { id: recording.id, file: follow(recording) }
  }
  return followed.file
}

function endFollowed(): void {
  followed?.file.end()
  followed = undefined
}

self.onmessage = async ({ data: { id, call, args } }: MessageEvent<Request>) => {
  try {
    const answer = calls[call] as (...args: unknown[]) => unknown
    reply({ id, result: await answer(...args) })
  } catch (error) {
    reply({ id, error: error instanceof Error ? error.message : String(error) })
  }
}

function reply(reply: Reply): void {
  const bytes = "result" in reply && reply.result instanceof Uint8Array ? reply.result : undefined
  self.postMessage(reply, { transfer: bytes ? [bytes.buffer as ArrayBuffer] : [] })
}
