/** The keys that ZEROMQ_LZ4_KEYLOG makes a process write, and what they open (docs/curve.md). */
import { mkdtempSync, readFileSync, rmSync, statSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { expect, onTestFinished, test } from "vitest"
import * as libzmq from "zeromq"
import * as ours from "zeromq-lz4"
import { decodeCapture, KeyLog } from "zeromq-lz4/capture"

import { captured, show } from "../support/captures.js"
import { inChild } from "../support/child.js"
import { Relay } from "../support/relay.js"
import { concat } from "../support/wire.js"

interface Told {
  warnings: string[]
  text: string
}

/** Sends messages with CURVE from a process that logs its keys. Returns what it warned of. */
const sendingProcess = (
  endpoint: string,
  keys: { server: string; own: ReturnType<typeof libzmq.curveKeyPair> },
  options: object,
  log: string,
): Promise<Told> =>
  inChild(
    async ({ sockets }, { endpoint, keys, options }) => {
      const warnings: string[] = []
      process.on("warning", ({ name, message }) => warnings.push(`${name}: ${message}`))
      const { Push } = await sockets()
      const push = new Push({
        curveServerKey: keys.server,
        curvePublicKey: keys.own.publicKey,
        curveSecretKey: keys.own.secretKey,
      })
      push.connect(endpoint, options)
      const text = "text ".repeat(1000)
      for (const name of ["one", "two"]) await push.send([name, text])
      await push.lz4.flush()
      push.close()
      return { warnings, text }
    },
    { endpoint, keys, options },
    { ZEROMQ_LZ4_KEYLOG: log },
  )

function temporaryFile(): string {
  const directory = mkdtempSync(join(tmpdir(), "zeromq-lz4-keys-"))
  onTestFinished(() => rmSync(directory, { recursive: true }))
  return join(directory, "keys.log")
}

test.each([
  ["libzmq over tcp://", libzmq, "tcp", { acceptPlain: true }, "none"],
  ["this package", ours, "lz4+tcp", { level: 0 }, "LZ4B"],
  [
    "this package over zstd+tcp://, from a thread",
    ours,
    "zstd+tcp",
    { level: 1, thread: true },
    "ZSTD",
  ],
] as const)("open what was sent to %s", async (_, { Pull }, scheme, options, form) => {
  const log = temporaryFile()
  const server = libzmq.curveKeyPair()
  const own = libzmq.curveKeyPair()
  const pull = new Pull({ curveServer: true, curveSecretKey: server.secretKey })
  onTestFinished(() => pull.close())
  await pull.bind(`${scheme}://127.0.0.1:*`)
  const relay = await Relay.before(pull.lastEndpoint!.replace(/^tcp/, "lz4+tcp"))
  onTestFinished(() => relay.close())
  const endpoint = relay.endpointOf(`${scheme === "tcp" ? "lz4+tcp" : scheme}://`)

  const sending = sendingProcess(endpoint, { server: server.publicKey, own }, options, log)
  const receiving = (async () => [await pull.receive(), await pull.receive()])()
  const [{ warnings, text }, received] = await Promise.all([sending, receiving])
  expect(received.map((parts) => parts.map(String))).toEqual([
    ["one", text],
    ["two", text],
  ])
  expect(warnings).toEqual([
    `SecurityWarning: ZEROMQ_LZ4_KEYLOG is set: whoever can read ${log} can decrypt the connections of this process`,
  ])

  const keys = readFileSync(log, "latin1")
  expect(keys).toMatch(/^CURVE [0-9a-f]{64} [0-9a-f]{64}\n$/)
  // Windows has no such modes.
  if (process.platform !== "win32") expect(statSync(log).mode & 0o777).toBe(0o600)
  const [{ fromClient, fromServer }] = relay.connections as [Relay["connections"][0]]
  const file = captured([
    ["client", concat(...fromClient)],
    ["server", concat(...fromServer)],
  ])
  const { connections } = decodeCapture(file, { keys: new KeyLog(keys) })
  const [{ messages, errors }] = connections as [(typeof connections)[0]]
  expect(errors).toEqual([])
  const plain = form === "none" ? "" : "plain "
  const compressed = form === "none" ? "" : `${form} `
  expect(messages.map(({ parts }) => parts.map(show))).toEqual([
    [`${plain}one`, `${compressed}${text}`],
    [`${plain}two`, `${compressed}${text}`],
  ])
})

test("a log that cannot be written is a warning, and nothing else", async () => {
  const server = libzmq.curveKeyPair()
  const pull = new ours.Pull({ curveServer: true, curveSecretKey: server.secretKey })
  onTestFinished(() => pull.close())
  await pull.bind("lz4+tcp://127.0.0.1:*")
  const log = join(temporaryFile(), "below-a-file")
  const keys = { server: server.publicKey, own: libzmq.curveKeyPair() }
  const sending = sendingProcess(pull.lastEndpoint!, keys, {}, log)
  const [{ warnings }, [name]] = await Promise.all([sending, pull.receive()])
  expect(String(name)).toBe("one")
  expect(warnings).toEqual([
    `Warning: ZEROMQ_LZ4_KEYLOG: no keys are written: ENOENT: no such file or directory, open '${log}'`,
  ])
})
