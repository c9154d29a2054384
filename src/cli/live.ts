/** `inspect --live`: a recording in progress in a browser. */
import { InputError } from "./errors.js"
import { nameOf } from "./input.js"
import { openRecording } from "./live-recording.js"
import { serveLive } from "./live-server.js"
import { type Content, livePage, openRedirect } from "./open-page.js"
import { printErrorLine, printResult } from "./output.js"
import { firstSignal } from "./signals.js"

export interface LiveOptions {
  dictionary: Content | undefined
  /** The port to listen on; 0 for one that is free. */
  port: number
  /** Whether to open the page in the default browser. */
  open: boolean
}

/** Serves the page until a signal ends it, also when the recording has ended. */
export async function inspectLive(
  file: string,
  { dictionary, port, open }: LiveOptions,
): Promise<void> {
  const recording = await openRecording(file)
  try {
    const server = await serveLive(livePage(nameOf(file), dictionary), recording, port)
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
    await recording.close()
  }
}

const STOP = "the page stays until Ctrl-C"
