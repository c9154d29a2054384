/**
 * Replaces esbuild's `for … in`, which would take up what an application has put on Object.prototype.
 * @param {string} code
 */
export function withoutForIn(code) {
  return code.replace(/for ?\(var name in all\)/, "for (var name of Object.keys(all))")
}
