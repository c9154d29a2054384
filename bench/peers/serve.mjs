import { createInterface } from "node:readline"

/**
 * The other end of peers.mjs, in the way of test/interop/python_peer.py: the set-up is JSON on the
 * command line; what `start` returns is the first line of standard output; then each line of
 * standard input is a command, `do` by name, answered by a line.
 * @template Setup
 * @param {(setup: Setup) => Promise<{ ready: object, commands: Record<string, (command: any) => unknown> }>} start
 */
export async function serve(start) {
  const answer = (/** @type {unknown} */ value) =>
    process.stdout.write(`${JSON.stringify(value ?? {})}\n`)
  const { ready, commands } = await start(JSON.parse(process.argv[2]))
  answer(ready)
  const lines = createInterface(process.stdin)
  // Whatever the sockets wait for: who started this is gone.
  lines.once("close", () => process.exit())
  for await (const line of lines) {
    const command = JSON.parse(line)
    answer(await commands[command.do](command))
  }
}
