/** The longest Buffer that there can be, in bytes. Browsers have none, and arrays of 4 GiB at most. */
export const BUFFER_MAX_BYTES: number =
  globalThis.process?.getBuiltinModule?.("node:buffer")?.constants?.MAX_LENGTH ?? 2 ** 32
