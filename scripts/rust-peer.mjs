/** Builds the Rust peer for tests or benchmarks. */
import { readArgs } from "./lib/args.mjs"
import { changed, lastChanged, onPath } from "./lib/files.mjs"
import { commandLine, fail, run } from "./lib/run.mjs"
import { rustPeerPath, sources, target } from "./lib/rust.mjs"

const { release } = readArgs(
  `usage: node scripts/rust-peer.mjs [--release]

Builds build/rust-peer from test/interop/rust-peer, unless it is newer than its sources.
  --release   for benchmarks: with all optimisations, which takes twice as long to compile`,
  { release: { type: "boolean" } },
)

const profile = release ? "release" : "tests"
if ((changed(rustPeerPath(profile)) ?? 0) < lastChanged(sources)) {
  if (!onPath("cargo")) fail("cargo is not on PATH: install Rust 1.93 or later, https://rustup.rs")
  const examples = release ? [] : ["--bins", "--examples"]
  const args = ["build", "--profile", profile, ...examples, "--locked", "--quiet"]
  console.log(commandLine("cargo", args))
  run("cargo", args, { cwd: sources, env: { ...process.env, CARGO_TARGET_DIR: target } })
}
