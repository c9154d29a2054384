/** The capture and the dictionary that `zeromq-lz4 inspect` puts into the page, with --open or --html. */

/** Number of characters that are decoded at once; a multiple of 4, which are 3 bytes. */
const STEP = 4 << 20

export function embeddedFile(element: HTMLElement): File | undefined {
  const base64 = element.textContent?.trim()
  if (!base64) return undefined
  const pieces: Uint8Array<ArrayBuffer>[] = []
  for (let at = 0; at < base64.length; at += STEP)
    pieces.push(Uint8Array.from(atob(base64.slice(at, at + STEP)), (c) => c.charCodeAt(0)))
  // The text takes more memory than the bytes.
  element.textContent = ""
  return new File(pieces, element.dataset.name ?? "file")
}
