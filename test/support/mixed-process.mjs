/**
 * A process whose socket has endpoints of libzmq and one of lz4+tcp://, and unbinds all of them
 * while it receives. To run many: node test/support/mixed-process.mjs --many 1000
 */
import { spawn } from "node:child_process"
import { rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"

const [, self, flag, count] = process.argv

async function unbindAll() {
  const { Pull, Push } = await import("zeromq-lz4")
  const path = join(tmpdir(), `zeromq-lz4-mixed-${process.pid}`)
  const pull = new Pull({ linger: 0 })
  /** @type {string[]} */
  const endpoints = []
  const schemes = ["lz4+tcp://127.0.0.1:*", "tcp://127.0.0.1:*", "inproc://mixed"]
  // Windows has no ipc://.
  if (process.platform !== "win32") schemes.push(`ipc://${path}`)
  for (const address of schemes) {
    await pull.bind(address)
    endpoints.push(/** @type {string} */ (pull.lastEndpoint))
  }
  const senders = endpoints.map((endpoint) => {
    const push = new Push({ linger: 0 })
    push.connect(endpoint)
    return push
  })
  for (let i = 0; i < 5; i++) for (const push of senders) await push.send("message")
  for (let i = 0; i < 5 * senders.length; i++) await pull.receive()
  const pending = pull.receive().catch((error) => error.code)
  for (const endpoint of endpoints) await pull.unbind(endpoint)
  pull.close()
  if ((await pending) !== "EAGAIN") throw new Error("a message arrived twice")
  for (const push of senders) push.close()
  rmSync(path, { force: true })
}

/**
 * Starts one such process, and resolves with the reason why it failed, if it did.
 * @returns {Promise<string | null>}
 */
export function mixedProcess() {
  return new Promise((resolve) => {
    const child = spawn(process.execPath, [fileURLToPath(import.meta.url), "--one"], {
      stdio: ["ignore", "ignore", "pipe"],
    })
    let errors = ""
    child.stderr.on("data", (text) => {
      errors += text
    })
    child.on("close", (code, signal) => resolve(code === 0 ? null : `${signal ?? code}: ${errors}`))
  })
}

/**
 * Runs `total` of them, `atATime` at once, and resolves with the reasons of those that failed.
 * @param {number} total
 * @param {number} atATime
 */
export async function mixedProcesses(total, atATime = 6) {
  /** @type {string[]} */
  const failures = []
  let begun = 0
  const lane = async () => {
    while (begun++ < total) {
      const failure = await mixedProcess()
      if (failure !== null) failures.push(failure)
    }
  }
  await Promise.all(Array.from({ length: atATime }, lane))
  return failures
}

if (self === fileURLToPath(import.meta.url)) {
  if (flag === "--one") await unbindAll()
  else if (flag === "--many") {
    const failures = await mixedProcesses(Number(count))
    for (const failure of failures) console.log(failure)
    console.log(`${failures.length} of ${count} processes failed`)
  }
}
