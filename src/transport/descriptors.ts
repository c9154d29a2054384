import { closeSync, openSync } from "node:fs"
import { devNull } from "node:os"

/**
 * Returns whether the process, or the system, has no file descriptor left.
 *
 * Nothing else tells: Node (libuv) accepts the connections that it has no descriptor for on one that
 * it keeps in reserve, and closes them at once, without an event.
 */
export function areDescriptorsUsedUp(): boolean {
  try {
    closeSync(openSync(devNull, "r"))
    return false
  } catch (error) {
    const { code } = error as { code?: string }
    return code === "EMFILE" || code === "ENFILE"
  }
}
