/** Maximum length of a Buffer in bytes. Browsers have no Buffer, and arrays of at most 4 GiB. */
export const BUFFER_MAX_BYTES: number =
  globalThis.process?.getBuiltinModule?.("node:buffer")?.constants?.MAX_LENGTH ?? 2 ** 32
