/** The packed package in Deno and in Node for Windows, with Node on Linux and with themselves. */
import { spawn } from "node:child_process"
import { once } from "node:events"
import { closeSync, cpSync, openSync, readFileSync, writeFileSync } from "node:fs"
import { createRequire } from "node:module"
import { join } from "node:path"
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest"
import { run } from "../../scripts/lib/run.mjs"
import { deno, endWindows, startInWindows } from "../../scripts/lib/runtimes.mjs"
import { pack, root, temporaryDirectory } from "../support/packed.js"
import { withoutWarning } from "../support/running-script.js"
import { freePort } from "../support/sockets.js"
import { encodings, type Transport } from "../support/transports.js"

const directory = temporaryDirectory()
const project = directory.path

beforeAll(() => {
  cpSync(join(root, "test/platforms/peer.mjs"), join(project, "peer.mjs"))
  writeFileSync(join(project, "package.json"), JSON.stringify({ private: true, type: "module" }))
  const { tarball } = pack(project)
  const { version } = createRequire(import.meta.url)("zeromq/package.json")
  const packages = [tarball, `zeromq@${version}`]
  run("npm", ["install", "--ignore-scripts", "--no-audit", "--no-fund", ...packages], {
    cwd: project,
  })
})

afterAll(() => {
  endWindows()
  directory[Symbol.dispose]()
})

type Start = (environment: Record<string, string>, outputFile: string) => ReturnType<typeof spawn>

/** Starts a program of Linux. */
const native =
  (program: string, ...args: string[]): Start =>
  (environment, outputFile) => {
    const output = openSync(outputFile, "w")
    const child = spawn(program, [...args, "peer.mjs"], {
      cwd: project,
      env: { ...process.env, ...environment },
      stdio: ["ignore", output, output],
    })
    closeSync(output)
    return child
  }

const runtimes = {
  node: native(process.execPath),
  deno: native(deno, "run", "--allow-all", "--no-prompt"),
  windows: (environment, outputFile) =>
    startInWindows(["peer.mjs"], outputFile, environment, project),
} satisfies Record<string, Start>

/** The binding and the connecting runtime. */
const pairs = [
  ["deno", "node"],
  ["node", "deno"],
  ["deno", "deno"],
  ["windows", "node"],
  ["node", "windows"],
] as const

/** The actions of the binding side and of the other. */
const patterns = [
  ["pull", "push"],
  ["push", "pull"],
  ["reply", "request"],
  ["publish", "subscribe"],
] as const

// Not over tcp://: in Deno, zeromq.js loses wake-ups, and a REQ and a REP wait forever.
describe.each(encodings.filter(({ scheme }) => scheme !== "tcp://"))("over $name", (transport) => {
  describe.each(pairs)("%s binds and %s connects", (binding, connecting) => {
    test.each(patterns)("%s and %s", async (binds, connects) => {
      const endpoint = `${transport.scheme}127.0.0.1:${await freePort()}`
      const ended = await Promise.all([
        peer(binding, { role: binds, binds: true, endpoint }, transport),
        peer(connecting, { role: connects, binds: false, endpoint }, transport),
      ])
      expect(ended).toEqual([
        { status: 0, output: "done" },
        { status: 0, output: "done" },
      ])
    })
  })
})

/** Runs peer.mjs to its end. */
async function peer(
  runtime: keyof typeof runtimes,
  task: { role: string; binds: boolean; endpoint: string },
  { options }: Transport,
) {
  const dictionary = options.dictionary && Buffer.from(options.dictionary).toString("base64")
  const outputFile = join(project, `${task.role}.log`)
  const environment = { EXCHANGE: JSON.stringify({ ...task, dictionary }), NO_COLOR: "1" }
  const child = runtimes[runtime](environment, outputFile)
  onTestFinished(() => void child.kill("SIGKILL"))
  const timer = setTimeout(() => child.kill("SIGKILL"), 250_000)
  const [status] = await once(child, "exit")
  clearTimeout(timer)
  // Also over tcp://.
  return { status, output: withoutWarning(readFileSync(outputFile, "utf8")).trim() }
}
