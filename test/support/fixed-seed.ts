/** Sets the seed of all property tests. vitest loads this before each file of tests. */
import * as zlib from "node:zlib"
import fc from "fast-check"
import { SEED } from "./seed.js"

// Node 20.11, in which tests run on s390x, has no crc32().
fc.configureGlobal({ seed: zlib.crc32 ? zlib.crc32(SEED) : SEED.length })
