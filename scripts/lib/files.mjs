/** Looking at files without reading them. */
import { accessSync, constants, readdirSync, statSync } from "node:fs"
import { delimiter, join } from "node:path"

/** Milliseconds since the epoch; undefined when there is no such file. @param {string} path */
export const changed = (path) => statSync(path, { throwIfNoEntry: false })?.mtimeMs

/**
 * When a file, or anything in a directory, last changed. Directories count too: that is
 * how a file that was taken away shows.
 * @param {string} path
 * @param {(name: string) => boolean} [wanted] of files and directories; all when left out
 * @returns {number} 0 when there is nothing
 */
export function lastChanged(path, wanted = () => true) {
  const stat = statSync(path, { throwIfNoEntry: false })
  if (!stat) return 0
  if (!stat.isDirectory()) return stat.mtimeMs
  const inside = readdirSync(path).filter(wanted)
  return Math.max(stat.mtimeMs, ...inside.map((name) => lastChanged(join(path, name), wanted)))
}

/** The files of a directory with one extension, sorted. @param {string} directory @param {string} extension */
export function filesIn(directory, extension) {
  if (!changed(directory)) return []
  const names = readdirSync(directory).filter((name) => name.endsWith(extension))
  return names.sort().map((name) => join(directory, name))
}

/** The full path of the first of these programs that is on PATH. @param {string[]} names */
export function onPath(...names) {
  for (const name of names)
    for (const directory of (process.env.PATH ?? "").split(delimiter)) {
      const path = join(directory, name)
      try {
        accessSync(path, constants.X_OK)
        return path
      } catch {
        // Not here: the next directory.
      }
    }
  return undefined
}
