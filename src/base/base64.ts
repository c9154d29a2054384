/** Decodes base64, in Node with its faster decoder. */
export const fromBase64 = (text: string): Uint8Array<ArrayBuffer> =>
  globalThis.Buffer
    ? new Uint8Array(globalThis.Buffer.from(text, "base64"))
    : Uint8Array.from(atob(text), (character) => character.charCodeAt(0))
