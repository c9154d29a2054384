/** Builds the Rust peer for test/interop. */
import { readArgs } from "./lib/args.mjs"
import { changed, lastChanged, onPath } from "./lib/files.mjs"
import { commandLine, fail, run } from "./lib/run.mjs"
import { rustPeerPath, sources, target } from "./lib/rust.mjs"

readArgs(
  `usage: node scripts/rust-peer.mjs

Builds build/rust-peer from test/interop/rust-peer, unless it is newer than its sources.`,
  {},
)

if ((changed(rustPeerPath) ?? 0) < lastChanged(sources)) {
  if (!onPath("cargo")) fail("cargo is not on PATH: install Rust 1.93 or later, https://rustup.rs")
  const args = ["build", "--release", "--locked", "--quiet"]
  console.log(commandLine("cargo", args))
  run("cargo", args, { cwd: sources, env: { ...process.env, CARGO_TARGET_DIR: target } })
}
