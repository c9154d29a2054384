/** Finds files and their modification times. */
import { accessSync, constants, readdirSync, statSync } from "node:fs"
import { delimiter, join } from "node:path"

/** Returns a file's modification time in milliseconds; undefined if it does not exist. @param {string} path */
export const changed = (path) => statSync(path, { throwIfNoEntry: false })?.mtimeMs

/**
 * Returns the time of the last change to a file, or to anything in a directory. The directories'
 * own times count too, because they show that a file was deleted.
 * @param {string} path
 * @param {(name: string) => boolean} [wanted] of files and directories; all by default
 * @returns {number} 0 if there is no such file
 */
export function lastChanged(path, wanted = () => true) {
  const stat = statSync(path, { throwIfNoEntry: false })
  if (!stat) return 0
  if (!stat.isDirectory()) return stat.mtimeMs
  const inside = readdirSync(path).filter(wanted)
  return Math.max(stat.mtimeMs, ...inside.map((name) => lastChanged(join(path, name), wanted)))
}

/** Lists the files of a directory with an extension, sorted. @param {string} directory @param {string} extension */
export function filesIn(directory, extension) {
  if (!changed(directory)) return []
  const names = readdirSync(directory).filter((name) => name.endsWith(extension))
  return names.sort().map((name) => join(directory, name))
}

/** Returns the full path of the first of these programs that is on PATH. @param {string[]} names */
export function onPath(...names) {
  for (const name of names)
    for (const directory of (process.env.PATH ?? "").split(delimiter)) {
      const path = join(directory, name)
      try {
        accessSync(path, constants.X_OK)
        return path
      } catch {
        // Try the next directory.
      }
    }
  return undefined
}

/**
 * Returns the path of the first of some programs.
 *
 * @param {...string} names the first is also that of its Debian package
 * @throws Error if PATH has none of them
 */
export function programPath(...names) {
  const path = onPath(...names)
  if (path === undefined) throw new Error(`${names[0]} is not on PATH: apt-get install ${names[0]}`)
  return path
}
