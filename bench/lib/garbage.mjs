/** Collects garbage, without an option on the command line. */
import { setFlagsFromString } from "node:v8"
import { runInNewContext } from "node:vm"

setFlagsFromString("--expose-gc")
export const collectGarbage = /** @type {() => void} */ (runInNewContext("gc"))
