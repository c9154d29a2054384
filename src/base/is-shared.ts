/** Returns whether threads can share `memory`. Electron's pages, say, have no such memory. */
export function isShared(memory: ArrayBufferLike): boolean {
  return typeof SharedArrayBuffer !== "undefined" && memory instanceof SharedArrayBuffer
}
