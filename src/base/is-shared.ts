/** Returns whether threads share memory. Some runtimes have none to share: Electron's pages, for example. */
export function isShared(memory: ArrayBufferLike): boolean {
  return typeof SharedArrayBuffer !== "undefined" && memory instanceof SharedArrayBuffer
}
