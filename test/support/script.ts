/** Runs a script in a separate process. */
import { execFile } from "node:child_process"
import { promisify } from "node:util"

import { root } from "./packed.js"

const run = promisify(execFile)

/** Runs the body of an async function, with the package as `zmq`, and returns its result. */
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
