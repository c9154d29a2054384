/** A script in a process of its own. */
import { execFile } from "node:child_process"
import { promisify } from "node:util"

import { root } from "./packed.js"

const run = promisify(execFile)

/** Runs the body of an async function, in which `zmq` is the package, and returns what it returns. */
export async function runScript(
  body: string,
  environment: NodeJS.ProcessEnv = {},
): Promise<unknown> {
  const script = `
    const zmq = require("zeromq-lz4")
    const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms))
    const collect = async () => { for (let i = 0; i < 5; i++) { gc(); await sleep(10) } }
    const main = async () => { ${body} }
    main().then((result) => { console.log(JSON.stringify({ result })); process.exit() })`
  const { stdout } = await run(process.execPath, ["--expose-gc", "-e", script], {
    cwd: root,
    env: { ...process.env, ...environment },
  })
  return JSON.parse(stdout).result
}
