/** The paths of the Rust peer, which is built once for tests and once for benchmarks. */
import { join } from "node:path"
import { build, root } from "./paths.mjs"

export const sources = join(root, "test/interop/rust-peer")
export const target = join(build, "rust-peer")
/** @typedef {"tests" | "release"} Profile */

export const rustPeerPath = (/** @type {Profile} */ profile) => join(target, profile, "rust-peer")
