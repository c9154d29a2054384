/** What `zeromq-lz4 page` and `zeromq-lz4 live` put into the page. */
import { byId } from "./dom.js"

/** Number of characters that are decoded at once; a multiple of 4, which are 3 bytes. */
const STEP = 4 << 20

/** Returns the files in an element, and in those beside it that have its id and a number. */
export function embeddedFiles(id: string): File[] {
  const files: File[] = []
  for (let element = byId(id), i = 2; element; element = byId(`${id}-${i++}`)) {
    const file = embeddedFile(element)
    if (file) files.push(file)
  }
  return files
}

function embeddedFile(element: HTMLElement): File | undefined {
  const base64 = element.textContent?.trim()
  if (!base64) return undefined
  const pieces: Uint8Array<ArrayBuffer>[] = []
  for (let at = 0; at < base64.length; at += STEP)
    pieces.push(Uint8Array.from(atob(base64.slice(at, at + STEP)), (c) => c.charCodeAt(0)))
  // The text takes more memory than the bytes.
  element.textContent = ""
  return new File(pieces, element.dataset.name ?? "file")
}

/** Returns the recording in progress that is served beside the page. */
export function servedRecording({
  dataset,
}: HTMLElement): { name: string; url: string } | undefined {
  const { name } = dataset
  return name === undefined ? undefined : { name, url: new URL("recording", location.href).href }
}
