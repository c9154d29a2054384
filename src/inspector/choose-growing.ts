/** Chooses a file that is still recorded, which not every browser lets a page read again. */

declare global {
  interface Window {
    showOpenFilePicker?(): Promise<FileSystemFileHandle[]>
  }
}

/**
 * Returns the file that the user chooses; undefined if none.
 *
 * @throws Error with a message for the user if the browser has no such files.
 */
export async function chooseGrowing(): Promise<FileSystemFileHandle | undefined> {
  if (!window.showOpenFilePicker)
    throw new Error(
      "This browser does not let a page read a file again while it grows: use zeromq-lz4 inspect --live FILE.",
    )
  try {
    return (await window.showOpenFilePicker())[0]
  } catch (error) {
    if ((error as Error).name === "AbortError") return undefined
    throw error
  }
}
