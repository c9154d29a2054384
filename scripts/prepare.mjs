/** Makes what some suites and benchmarks need besides the packages of package-lock.json. */
import { readArgs } from "./lib/args.mjs"
import { makePythonEnvironment } from "./lib/python.mjs"
import { fail } from "./lib/run.mjs"
import {
  checkEmulators,
  installNodeVersions,
  installRuntimes,
  makeWinePrefix,
} from "./lib/runtimes.mjs"
import { buildRustPeer } from "./lib/rust.mjs"

const {
  python,
  rust,
  "rust-release": rustRelease,
  runtimes,
} = readArgs(
  `usage: node scripts/prepare.mjs [--python] [--rust] [--rust-release] [--runtimes]

Makes what is missing or out of date.
  --python         build/venv, with the packages of test/interop/requirements.txt
  --rust           build/rust-peer, from test/interop/rust-peer, for tests
  --rust-release   the same for benchmarks, with all optimisations: compiling it takes three times as long
  --runtimes       Node 22, 24 and 26, Deno, and Node for Windows, arm64 and s390x, from npm, and
                   build/wine. Needs Wine, qemu, and the C and C++ libraries of these processors`,
  {
    python: { type: "boolean" },
    rust: { type: "boolean" },
    "rust-release": { type: "boolean" },
    runtimes: { type: "boolean" },
  },
)

if (!(python || rust || rustRelease || runtimes))
  fail("nothing to make: give --python, --rust, --rust-release or --runtimes")
if (python) makePythonEnvironment()
if (rust) buildRustPeer("tests")
if (rustRelease) buildRustPeer("release")
if (runtimes) {
  checkEmulators()
  installNodeVersions()
  installRuntimes()
  makeWinePrefix()
}
