/** Returns the versions of the implementations with sockets, for the stored results. */
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { version as libzmq } from "zeromq"
import { Codec } from "zeromq-lz4/codec"

import { requirements } from "../../scripts/lib/python.mjs"
import { sources } from "../../scripts/lib/rust.mjs"
import { packageVersion } from "../lib/results.mjs"

/** @param {string} file @param {RegExp} pattern */
const found = (file, pattern) => pattern.exec(readFileSync(file, "utf8"))?.[1] ?? "unknown"

/** @returns {Record<string, string>} */
export const socketVersions = () => ({
  node: process.versions.node,
  zeromq: packageVersion("zeromq"),
  libzmq,
  liblz4: Codec.lz4Version,
  pyomq: found(requirements, /^pyomq==(.+)$/m),
  "omq-tokio": found(join(sources, "Cargo.lock"), /name = "omq-tokio"\nversion = "(.+)"/),
})
