/** zeromq.js, an optional peer: codec and captures do without it. */
import { createRequire } from "node:module"
import type * as zmq from "zeromq"
import type * as draft from "zeromq/draft.js"

const require = createRequire(import.meta.url)

function load<T>(name: string): T {
  try {
    return require(name)
  } catch (error) {
    // Not what zeromq itself may miss, such as a build for this platform.
    const { code, message } = error as NodeJS.ErrnoException
    if (code !== "MODULE_NOT_FOUND" || !message.includes(`'${name}'`)) throw error
    throw Object.assign(
      new Error(
        "the sockets of zeromq-lz4 need zeromq.js: npm install zeromq (zeromq-lz4/codec and zeromq-lz4/capture do without it)",
        { cause: error },
      ),
      { code: "ERR_LZ4_ZEROMQ_MISSING" },
    )
  }
}

export const loadZeromq = (): typeof zmq => load("zeromq")
export const loadDraft = (): typeof draft => load("zeromq/draft.js")
