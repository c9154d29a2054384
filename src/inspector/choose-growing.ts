/** Chooses a file that is still recorded, which not every browser lets a page read again. */

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
