/** What runs in pages, and in contexts of node:vm, does without built-ins that are newer than these. */

/** Options of esbuild: code that says `Symbol.dispose` works where there is none. */
export const withDispose = {
  define: { "Symbol.dispose": "disposeSymbol" },
  inject: ["src/base/dispose-symbol.ts"],
}

/** Built-ins that Node 20.0, contexts of node:vm in it, or Safari 16 lack. */
const NEWER = [
  ...["Array.fromAsync", "Promise.withResolvers", "Promise.try", "Object.groupBy", "Map.groupBy"],
  ...["AbortSignal.any", "Iterator.from", "Error.isError", "RegExp.escape", "Math.sumPrecise"],
  ...["Uint8Array.fromBase64", "Uint8Array.fromHex", "URL.parse", "URL.canParse"],
  ...[".toSorted(", ".toReversed(", ".toSpliced(", ".with(", ".isWellFormed(", ".toWellFormed("],
  ...[".isSubsetOf(", ".isSupersetOf(", ".isDisjointFrom(", ".symmetricDifference("],
  ...[
    ".setFromBase64(",
    ".toBase64(",
    ".toHex(",
    ".transfer(",
    ".transferToFixedLength(",
    ".waitAsync(",
  ],
  ...["DisposableStack", "Float16Array"],
]

/**
 * Throws if code that runs in pages uses a newer built-in.
 * @param {string} file @param {string} code
 */
export function checkBuiltIns(file, code) {
  // Where code asks for one first, it has something else: esbuild's does, for bytes.
  const used = NEWER.filter((name) =>
    code.replaceAll(`${name}||`, "").replaceAll(`${name} ||`, "").includes(name),
  )
  if (used.length > 0)
    throw new Error(`${file} uses ${used.join(", ")}, which Safari 16 or Node 20.0 lacks`)
}
