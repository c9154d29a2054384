/**
 * Flags that also apply to worker threads of this package: those of profilers and of the network. Not
 * `--cpu-prof-name` and `--heap-prof-name`: the profile of the program would replace the thread's.
 */
const INHERITED =
  /^--((cpu|heap)-prof(?!-name)|dns-result-order|(no-)?network-family-autoselection)/

/** A word of NODE_OPTIONS, which may have quoted pieces. */
const WORD = /(?:[^\s"]|"(?:\\.|[^"\\])*")+/g
const QUOTED = /"((?:\\.|[^"\\])*)"/g

/**
 * Returns the flags of a process that also apply to its worker threads.
 *
 * @param execArgv the flags of its command line.
 * @param nodeOptions NODE_OPTIONS of its environment.
 */
export function inheritedFlags(execArgv: readonly string[], nodeOptions = ""): string[] {
  const unquoted = (_: string, text: string) => text.replace(/\\(.)/g, "$1")
  const words = nodeOptions.match(WORD) ?? []
  const flags = [...words.map((word) => word.replace(QUOTED, unquoted)), ...execArgv]
  // A word that is no flag is the value of the one before.
  return flags.filter((word, i) =>
    INHERITED.test(word.startsWith("-") ? word : (flags[i - 1] ?? "")),
  )
}
