/**
 * Returns whether threads can share `memory`. Some runtimes have none to share: Electron's pages, say.
 */
export function isShared(memory: ArrayBufferLike): boolean {
  return typeof SharedArrayBuffer !== "undefined" && memory instanceof SharedArrayBuffer
}
