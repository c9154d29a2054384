/** The codec on arm64, and sockets of all types, without and with threads. */
import { describeEmulated } from "./emulated.js"

await describeEmulated("codec", "arm64", { files: ["unit/codec/vectors"] })
const ways = {
  "pairs of socket types": {},
  "pairs of socket types, with threads": { thread: true },
}
for (const [name, options] of Object.entries(ways))
  await describeEmulated(name, "arm64", {
    files: ["sockets/pairs"],
    only: "exchanges messages when the left one binds",
    environment: { LZ4_OPTIONS: JSON.stringify(options) },
  })
