/** The ways in which a page gets its captures: dropped, chosen, or put into it by `zeromq-lz4`. */
import { byId } from "./dom.js"

declare global {
  interface Window {
    showOpenFilePicker?(): Promise<FileSystemFileHandle[]>
  }
}

/** Whether this browser lets a page read a file again while it grows. */
export const canFollow: boolean = window.showOpenFilePicker !== undefined

/** Returns the file that the user chooses; undefined if none. */
export async function chooseGrowing(): Promise<FileSystemFileHandle | undefined> {
  try {
    return (await window.showOpenFilePicker!())[0]
  } catch (error) {
    if ((error as Error).name === "AbortError") return undefined
    throw error
  }
}

/** Sets the attribute data-dropping of `target` while a file is dragged over it. */
export function listenForDrops(target: HTMLElement, onDrop: (files: File[]) => void): void {
  target.addEventListener("dragover", (event) => {
    event.preventDefault()
    target.dataset.dropping = ""
  })
  target.addEventListener("dragleave", (event) => {
    // The event fires for every element that is left; relatedTarget is null outside of the page.
    if (event.relatedTarget === null) delete target.dataset.dropping
  })
  target.addEventListener("drop", (event) => {
    event.preventDefault()
    delete target.dataset.dropping
    const files = [...(event.dataTransfer?.files ?? [])]
    if (files.length > 0) onDrop(files)
  })
}

const KEY_LOG_START = "CURVE "

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

/** Returns the file that is served beside the page, and grows, if the element names one. */
export function servedFile(
  { dataset }: HTMLElement,
  path: "recording" | "keys",
): { name: string; url: string } | undefined {
  const { name } = dataset
  return name === undefined ? undefined : { name, url: new URL(path, location.href).href }
}

/** Returns whether a file is a key log that a process has written. */
export const isKeyLog = async (file: Blob): Promise<boolean> =>
  (await file.slice(0, KEY_LOG_START.length).text()) === KEY_LOG_START
