/** The processes at the ends of a connection, told what to do from here. */
import { fork } from "node:child_process"
import { fileURLToPath } from "node:url"

const TRANSPORT_PEER = new URL("peer.mjs", import.meta.url)

/** @typedef {{ call: (name: string, ...args: unknown[]) => Promise<any>, stop: () => void }} Peer */

/** As little garbage as possible in what memory() says. */
const LEAN = ["--expose-gc", "--max-semi-space-size=1"]

/**
 * @param {string} what  a transport, or what another script takes
 * @param {{ script?: URL, lean?: boolean }} [options]
 * @returns {Peer}
 */
export function startPeer(what, { script = TRANSPORT_PEER, lean = false } = {}) {
  const child = fork(fileURLToPath(script), [what], {
    execArgv: lean ? LEAN : [],
    serialization: "advanced",
  })
  /** @type {Map<number, { resolve: (result: any) => void, reject: (error: Error) => void }>} */
  const pending = new Map()
  let count = 0

  child.on("message", (/** @type {any} */ { id, result, error }) => {
    const call = pending.get(id)
    pending.delete(id)
    if (error === undefined) call?.resolve(result)
    else call?.reject(new Error(error))
  })
  child.on("exit", (code, signal) => {
    for (const { reject } of pending.values())
      reject(new Error(`a process of ${what} ended with ${signal ?? code}`))
  })
  return {
    call: (name, ...args) =>
      new Promise((resolve, reject) => {
        const id = count++
        pending.set(id, { resolve, reject })
        child.send({ id, name, args })
      }),
    stop: () => child.kill("SIGKILL"), // it has nothing to tidy up
  }
}
