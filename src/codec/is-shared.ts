/** Returns whether threads share memory. Some runtimes have none that they could: Electron's pages, for example. */
export function isShared(memory: ArrayBufferLike): boolean {
  return typeof SharedArrayBuffer !== "undefined" && memory instanceof SharedArrayBuffer
}
