/** The paths of the Rust peer for test/interop. */
import { join } from "node:path"
import { build, root } from "./paths.mjs"

export const sources = join(root, "test/interop/rust-peer")
export const target = join(build, "rust-peer")
export const rustPeerPath = join(target, "release/rust-peer")
