/** A ZAP handler (RFC 27 of the ZeroMQ project) that lets clients in whose CURVE key is on a list. */
import { createReadStream, statSync } from "node:fs"
import type * as zmq from "zeromq"
import { shown, withCode, wrongType } from "../codec/errors.js"
import { ownOptions } from "../codec/options.js"
import { LIST_MAX_BYTES, parseKeyList, withoutMark } from "../curve/key-list.js"
import { formatKey, parseKey } from "../curve/keys.js"
import { warn } from "../transport/diagnosis.js"
import type { ZmqError } from "../transport/zmq-error.js"
import { loadZeromq } from "../zeromq.js"
import { ADDRESS } from "./zap.js"

const ALLOWED = "200"
const REFUSED = "400"

/**
 * The public keys of the clients that may connect, each as 40 characters of Z85 or 32 bytes, or the path
 * of a list of keys.
 */
export type ClientKeys = Iterable<string | Uint8Array> | { file: string }

/** Options of {@link allowClients}. */
export interface AllowClientsOptions {
  /** The context of the servers. Default: that of all sockets that are created without one. */
  context?: zmq.Context
}

/** A running ZAP handler. */
export interface AllowedClients {
  /** Number of keys. */
  readonly size: number
  /** Ends the handler. Servers then accept every client again. A handler keeps the process alive. */
  close(): void
}

/**
 * Lets servers with CURVE accept only the clients with these public keys, and no peers without CURVE: it
 * is the ZAP handler of a context, which has one at most. Bind servers after the promise has resolved.
 *
 * `{ file }` names a list with a key on each line. A comment may follow the key, or `#` on a line of its
 * own. The list is read again when it has changed. If it cannot be read then, the latest one stays in
 * force, with a warning.
 *
 * @throws TypeError, or Error with the code EINVAL, if a key is invalid.
 * @throws Error with the code ERR_LZ4_CLIENT_KEYS if the file has no list of keys.
 * @throws Error with the code EADDRINUSE if the context has a ZAP handler already.
 *
 * @example
 * ```js
 * const clients = await allowClients({ file: "clients.txt" })
 * await pull.bind("lz4+tcp://*:5555")
 * ```
 */
export async function allowClients(
  keys: ClientKeys,
  options: AllowClientsOptions = {},
): Promise<AllowedClients> {
  const { context } = ownOptions(options, ["context"])
  const list = await listOf(keys)
  const { Reply } = loadZeromq()
  const handler = new Reply({ linger: 0, ...(context && { context }) })
  try {
    await handler.bind(ADDRESS)
  } catch (error) {
    handler.close()
    throw (error as ZmqError).code === "EADDRINUSE" ? alreadyHandled(error as ZmqError) : error
  }
  void answer(handler, list)
  return {
    get size() {
      return list.keys.size
    },
    close() {
      // close() would release the address some milliseconds later. This does as unbind(), at once.
      if (!handler.closed) handler.disconnect(ADDRESS)
      handler.close()
    },
  }
}

function alreadyHandled(error: ZmqError): ZmqError {
  error.message += ": the context has a ZAP handler, of allowClients() or the program's own"
  return error
}

async function answer(handler: zmq.Reply, list: KeyList): Promise<void> {
  try {
    for await (const [version, id, , , , mechanism, key] of handler) {
      const isCurve = String(mechanism) === "CURVE" && key?.length === 32
      const isAllowed = isCurve && (await list.latest()).has(formatKey(key))
      const status = isAllowed ? [ALLOWED, "OK"] : [REFUSED, "unknown key"]
      await handler.send([version as Buffer, id as Buffer, ...status, "", ""])
    }
  } catch (error) {
    if (!handler.closed) throw error
  }
}

interface KeyList {
  readonly keys: ReadonlySet<string>
  latest(): Promise<ReadonlySet<string>>
}

async function listOf(given: ClientKeys): Promise<KeyList> {
  if (typeof given === "object" && given !== null && "file" in given) {
    const file = new KeyFile(given.file)
    await file.read()
    return file
  }
  if (typeof given !== "object" || typeof given?.[Symbol.iterator] !== "function")
    throw wrongType(`keys must be an iterable of keys, or { file }; got ${shown(given)}`)
  const keys = new Set(Array.from(given, (key, i) => formatKey(parseKey(`key ${i}`, key))))
  return { keys, latest: async () => keys }
}

class KeyFile implements KeyList {
  readonly #file: string
  #version = ""
  keys: ReadonlySet<string> = new Set()

  constructor(file: string) {
    if (typeof file !== "string") throw wrongType(`file must be a string; got ${shown(file)}`)
    this.#file = file
  }

  /** @throws Error with the code ERR_LZ4_CLIENT_KEYS if the file cannot be read, or has no keys. */
  async read(): Promise<void> {
    this.#version = this.#currentVersion()
    try {
      let text = ""
      for await (const piece of createReadStream(this.#file, { encoding: "latin1" })) {
        text += piece
        if (text.length > LIST_MAX_BYTES)
          throw new Error(`${this.#file}: a list of keys has ${LIST_MAX_BYTES} bytes at most`)
      }
      this.keys = parseKeyList(this.#file, withoutMark(text))
    } catch (error) {
      throw withCode(error as Error, "ERR_LZ4_CLIENT_KEYS")
    }
  }

  async latest(): Promise<ReadonlySet<string>> {
    if (this.#currentVersion() !== this.#version)
      await this.read().catch((error: Error) => {
        error.message += `; the list read before, of ${this.keys.size} keys, stays in force`
        warn(error)
      })
    return this.keys
  }

  /** Returns a text that differs whenever the file has changed. */
  #currentVersion(): string {
    try {
      const { mtimeMs, size, ino } = statSync(this.#file)
      return `${mtimeMs} ${size} ${ino}`
    } catch (error) {
      return (error as NodeJS.ErrnoException).message
    }
  }
}
