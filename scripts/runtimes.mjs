/** Installs what test/platforms, and the suite of sockets elsewhere, run in. */
import { readArgs } from "./lib/args.mjs"
import { installNodeVersions, installRuntimes, makeWinePrefix } from "./lib/runtimes.mjs"

readArgs(
  `usage: node scripts/runtimes.mjs

Installs Node 22 and 24, Deno, and Node for Windows, from npm, and makes build/wine. Does nothing
when they are there.`,
  {},
)
installNodeVersions()
installRuntimes()
makeWinePrefix()
