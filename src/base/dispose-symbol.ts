/**
 * What the build puts in place of `Symbol.dispose`, which Safari, older browsers and contexts of
 * node:vm do not have. esbuild's code for `using` looks for the same symbol there.
 */
const { dispose } = Symbol as { readonly dispose?: symbol }

export const disposeSymbol: symbol = dispose ?? /* @__PURE__ */ Symbol.for("Symbol.dispose")
