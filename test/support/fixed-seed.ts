/** Sets the seed of all property tests. vitest loads this before each file of tests. */
import { crc32 } from "node:zlib"
import fc from "fast-check"
import { SEED } from "./seed.js"

fc.configureGlobal({ seed: crc32(SEED) })
