/** Returns the versions of the implementations with sockets, for the stored results. */
import { version as libzmq } from "zeromq"
import { Codec } from "zeromq-lz4/codec"

import { installedVersion } from "../../scripts/lib/python.mjs"
import { rustPackageVersion } from "../../scripts/lib/rust.mjs"
import { packageVersion } from "../lib/results.mjs"

/** @returns {Record<string, string>} */
export const socketVersions = () => ({
  node: process.versions.node,
  zeromq: packageVersion("zeromq"),
  libzmq,
  liblz4: Codec.lz4Version,
  pyomq: installedVersion("pyomq") ?? "unknown",
  "omq-tokio": rustPackageVersion("omq-tokio") ?? "unknown",
})
