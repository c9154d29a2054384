/** Command lines to paste into a shell, from the root of the repository. */
import { shown } from "./paths.mjs"

/** @param {string} word */
const quoted = (word) =>
  /^[\w./:=@,+-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`

/** @param {string[]} command */
export const inShell = (command) => command.map((word) => quoted(shown(word))).join(" ")
