import { createInterface } from "node:readline"

/**
 * Runs the other end of peers.mjs, with the protocol of test/interop/python_peer.py: the set-up is JSON
 * on the command line. The first line of standard output is the result of `start`. After that, each
 * line of standard input is a command, with its name in `do`, and is answered by a line.
 * @template Setup
 * @param {(setup: Setup) => Promise<{ ready: object, commands: Record<string, (command: any) => unknown> }>} start
 */
export async function serve(start) {
  const answer = (/** @type {unknown} */ value) =>
    process.stdout.write(`${JSON.stringify(value ?? {})}\n`)
  const { ready, commands } = await start(JSON.parse(process.argv[2]))
  answer(ready)
  const lines = createInterface(process.stdin)
  // Even if sockets are still waiting: the parent process has ended.
  lines.once("close", () => process.exit())
  for await (const line of lines) {
    const command = JSON.parse(line)
    answer(await commands[command.do](command))
  }
}
