import embedded from "../../../build/zeromq-lz4.wasm"
import { concat } from "../arrays.js"
import { outOfRange, wrongValue } from "../errors.js"
import type { Format } from "../instance.js"
import { integer } from "../integer.js"
import { NO_EFFORT } from "../no-effort.js"
import type { Rule } from "../refused-part.js"
import { SENTINEL_BYTES, writeSentinel } from "../wire.js"
import { decodeLarge, encodeLarge } from "./large.js"
import { EXPANSION_MAX, HEAD_BYTES, SENTINEL } from "./wire.js"

const ACCELERATION_MAX = 65537
const LEVEL_MIN = 3
const LEVEL_MAX = 12

/** An error of the module; see zeromq_lz4.h. */
const E_IMPLAUSIBLE_SIZE = -6
const IMPLAUSIBLE_SIZE: Rule = [
  "IMPLAUSIBLE_SIZE",
  (o) => `declares ${o.plainBytes} bytes, more than ${EXPANSION_MAX} times the bytes of its blocks`,
]

/** LZ4 (RFC.md section 4). An effort is an acceleration, or the negative of a level of LZ4HC. */
export const lz4: Format = {
  name: "lz4",
  scheme: "lz4+tcp",
  ownExport: "zl_lz4_version",
  wasm: embedded,
  headBytes: HEAD_BYTES,
  dictionaryAt: SENTINEL_BYTES,
  minCompressBytes: [512, 128],

  efforts: { all: [NO_EFFORT, 1, -3, -6, -9], usual: 1, thorough: 2 },

  levelOf: (effort) => (effort === NO_EFFORT ? "none" : effort > 0 ? 0 : -effort),

  readEffort(level, acceleration) {
    const checked = integer("level", level, 0, 0, LEVEL_MAX)
    if (checked === 0) return integer("acceleration", acceleration, 1, 1, ACCELERATION_MAX)
    if (checked < LEVEL_MIN)
      throw outOfRange(`level must be 0, or ${LEVEL_MIN} to ${LEVEL_MAX}; got ${checked}`)
    if (acceleration !== undefined)
      throw wrongValue(`acceleration applies to level 0 only; got it with level ${checked}`)
    return -checked
  },

  dictionaryPart(dictionary) {
    const wire = concat([new Uint8Array(SENTINEL_BYTES), dictionary])
    writeSentinel(wire, SENTINEL.LZ4D as number)
    return wire
  },

  refusesDictionary: () => undefined, // any bytes are one
  ruleOf: (status) => (status === E_IMPLAUSIBLE_SIZE ? IMPLAUSIBLE_SIZE : undefined),
  decodeLarge,
  encodeLarge,
}
