/** The paths of the Rust peer. */
import { join } from "node:path"
import { build, root } from "./paths.mjs"

export const sources = join(root, "test/interop/rust-peer")
export const target = join(build, "rust-peer")
/** For tests: it compiles in half the time. */
export const rustPeerPath = join(target, "debug/rust-peer")
/** For benchmarks. */
export const optimizedRustPeerPath = join(target, "release/rust-peer")
