/** Builds the peer in Rust that test/interop needs. */
import { readArgs } from "./lib/args.mjs"
import { changed, lastChanged, onPath } from "./lib/files.mjs"
import { commandLine, fail, run } from "./lib/run.mjs"
import { rustPeerPath, sources, target } from "./lib/rust.mjs"

readArgs(
  `usage: node scripts/rust-peer.mjs

Makes build/rust-peer from test/interop/rust-peer. Does nothing when it is newer than its sources.`,
  {},
)

if ((changed(rustPeerPath) ?? 0) < lastChanged(sources)) {
  if (!onPath("cargo")) fail("cargo is not on PATH: install Rust 1.93 or later, https://rustup.rs")
  const args = ["build", "--release", "--locked", "--quiet"]
  console.log(commandLine("cargo", args))
  run("cargo", args, { cwd: sources, env: { ...process.env, CARGO_TARGET_DIR: target } })
}
