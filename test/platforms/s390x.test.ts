/** The codec and captures on a big-endian processor. zeromq.js has no addon for it. */
import { describeEmulated } from "./emulated.js"

const codec = ["vectors", "wire"]
const captures = ["capture-files"]
await describeEmulated("codec and captures", "s390x", {
  files: [
    ...codec.map((name) => `unit/codec/${name}`),
    ...captures.map((name) => `unit/capture/${name}`),
  ],
  // The gate leaves out what repeats a file in chunks of many sizes, and cuts one at every byte.
  only: process.env.PLATFORMS_ALL
    ? ""
    : "^(?!the chunks of a file|damaged files .* that ends in the)",
})
// The others are slow: they repeat these streams at many splits, or draw them at random.
await describeEmulated("transcoders", "s390x", {
  files: ["unit/codec/transcoder"],
  only: "refused|as early as possible|is described",
})
