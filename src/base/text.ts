/**
 * The encoder and decoder of UTF-8. Jest's jsdom lacks these globals, but Node's `util` has them.
 * Create one at its first use, so that the package can be loaded everywhere.
 */
const util = /* @__PURE__ */ globalThis.process?.getBuiltinModule?.("node:util")

export const TextEncoder: typeof globalThis.TextEncoder =
  globalThis.TextEncoder ?? util?.TextEncoder
export const TextDecoder: typeof globalThis.TextDecoder =
  globalThis.TextDecoder ?? util?.TextDecoder
