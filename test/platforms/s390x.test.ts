/** The codec and captures on a big-endian processor. zeromq.js has no addon for it. */
import { describeEmulated } from "./emulated.js"

const codec = ["vectors", "wire"]
const captures = ["capture-files"]
await describeEmulated("codec and captures", "s390x", {
  files: [
    ...codec.map((name) => `unit/codec/${name}`),
    ...captures.map((name) => `unit/capture/${name}`),
  ],
})
// The others are slow: they repeat these streams at many splits, or draw them at random.
await describeEmulated("transcoders", "s390x", {
  files: ["unit/codec/transcoder"],
  only: "refused|as early as possible|is described",
})
