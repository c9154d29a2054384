/** The Rust peer, which is built once for tests and once for benchmarks. */
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { changed, lastChanged, onPath } from "./files.mjs"
import { build, root } from "./paths.mjs"
import { commandLine, fail, run } from "./run.mjs"

const sources = join(root, "test/interop/rust-peer")
const target = join(build, "rust-peer")
/** @typedef {"tests" | "release"} Profile */

export const rustPeerPath = (/** @type {Profile} */ profile) => join(target, profile, "rust-peer")

/** Builds the peer, and the examples for tests, unless they are newer than their sources. @param {Profile} profile */
export function buildRustPeer(profile) {
  if ((changed(rustPeerPath(profile)) ?? 0) >= lastChanged(sources)) return
  if (!onPath("cargo")) fail("cargo is not on PATH: install Rust 1.93 or later, https://rustup.rs")
  const examples = profile === "tests" ? ["--bins", "--examples"] : []
  const args = ["build", "--profile", profile, ...examples, "--locked", "--quiet"]
  console.log(commandLine("cargo", args))
  run("cargo", args, { cwd: sources, env: { ...process.env, CARGO_TARGET_DIR: target } })
}

/** Returns the version of a package that the peer is built with. @param {string} name */
export function rustPackageVersion(name) {
  const locked = readFileSync(join(sources, "Cargo.lock"), "utf8")
  return new RegExp(`name = "${name}"\\nversion = "(.+)"`).exec(locked)?.[1]
}
