/** Installs the runtimes for test/platforms, and for the sockets suite in other versions of Node. */
import { readArgs } from "./lib/args.mjs"
import {
  checkEmulators,
  installNodeVersions,
  installRuntimes,
  makeWinePrefix,
} from "./lib/runtimes.mjs"

readArgs(
  `usage: node scripts/runtimes.mjs

Installs Node 22, 24 and 26, Deno, and Node for Windows, arm64 and s390x from npm, and creates
build/wine, unless they exist. Needs Wine, qemu, and the C and C++ libraries of these processors.`,
  {},
)
checkEmulators()
installNodeVersions()
installRuntimes()
makeWinePrefix()
