import { statSync } from "node:fs"
import { DICTIONARY, KEYS } from "./capture-options.js"
import { type Command, command, wholeNumber } from "./command.js"
import { InputError, UsageError } from "./errors.js"
import { matchingFiles, nameOf } from "./input.js"
import { type LiveRecording, openRecording } from "./live-recording.js"
import { serveLive } from "./live-server.js"
import { printErrorLine, printResult } from "./output.js"
import { dictionaryIn, keysIn, livePage, openRedirect, type Secrets } from "./page.js"
import { firstSignal } from "./signals.js"

export const live: Command = command({
  synopsis: "live [options] FILE",
  summary: "show a recording in progress in a browser",
  about: `Shows FILE in a browser while it is recorded, or standard input:
tcpdump -i any -U -w - … | zeromq-lz4 live -
Prints the address of the page, for browsers on this computer, and ends with Ctrl-C.`,
  options: {
    "--open": "opens the page in the default browser",
    "--port PORT": "the port to listen on; default: one that is free",
    ...DICTIONARY,
    ...KEYS,
  },
  async run({ open = false, port, dictionary, keys }, positionals) {
    const files = matchingFiles(positionals)
    const [file] = files
    if (file === undefined) throw new UsageError("no FILE given")
    if (files.length > 1) throw new UsageError(`live takes one FILE; got ${files.length}`)
    // The content of a pipe is served as it comes.
    const isPipe = keys !== undefined && statSync(keys, { throwIfNoEntry: false })?.isFIFO()
    const secrets = {
      dictionary: dictionaryIn(dictionary),
      keys: isPipe ? { file: keys, bytes: new Uint8Array() } : keysIn(keys),
    }
    await serve(file, portOf(port), secrets, open)
  },
})

function portOf(value: string | undefined): number {
  const port = wholeNumber("--port", value) ?? 0
  if (port < 0 || port > 65535) throw new UsageError(`--port is 0 to 65535; got ${port}`)
  return port
}

const STOP = "the page stays until Ctrl-C"

/** Serves the page until a signal ends it, also when the recording has ended. */
async function serve(file: string, port: number, secrets: Secrets, open: boolean): Promise<void> {
  const recording = await openRecording(file)
  let keys: LiveRecording | undefined
  try {
    keys = secrets.keys && (await openRecording(secrets.keys.file))
    const server = await serveLive(livePage(nameOf(file), secrets), { recording, keys }, port)
    try {
      let isOver = false
      // A terminal that is closed must leave nothing behind either.
      const stopped = firstSignal("SIGHUP").finally(() => {
        isOver = true
      })
      await printResult(`the page: ${server.url}`)
      if (open && !(await openRedirect(server.url)))
        printErrorLine("no browser could be started: open this address in one")
      const ended = recording.ended.then(
        () => isOver || printErrorLine(`${nameOf(file)} has ended; ${STOP}`),
        (error: unknown) => {
          if (!(error instanceof InputError)) throw error
          printErrorLine(`${error.message}; ${STOP}`)
          process.exitCode = 1
        },
      )
      await Promise.race([stopped, ended.then(() => stopped)])
    } finally {
      server.close()
    }
  } finally {
    await keys?.close()
    await recording.close()
  }
}
