/** `--keys`: recordings of CURVE, with what ZEROMQ_LZ4_KEYLOG made a process write. */
import { execFileSync, spawn } from "node:child_process"
import { appendFileSync, chmodSync, readFileSync, statSync } from "node:fs"
import { describe, expect, test, vi } from "vitest"

import { captured } from "../../support/captures.js"
import { main, runCommand } from "../../support/command.js"
import { curveConversation } from "../../support/curve-conversation.js"
import { directoryOfTests } from "../../support/directory-of-tests.js"
import { RunningLive } from "../../support/running-live.js"
import { Running } from "../../support/running-script.js"
import { plainPart } from "../../support/wire.js"
import { message } from "../../support/zmtp.js"

const { directory, at, file } = directoryOfTests()
const run = (...args: string[]) => runCommand(directory, args)

const { said, log, seal } = curveConversation("server", { socketType: "DEALER" })
const sealed = (text: string) => seal.client(message(plainPart(Buffer.from(text))))
const capture = captured([
  ...said,
  ["client", sealed("topic")],
  ["server", seal.server(message(plainPart(Buffer.from("answer"))))],
  ["client", sealed("last")],
])
file("traffic.pcap", capture)
file("keys.log", log)

test("inspect shows what was encrypted, and the summary that it was", async () => {
  const { stdout, stderr, status } = await run("inspect", "--keys", "keys.log", "traffic.pcap")
  expect({ stderr, status }).toEqual({ stderr: "", status: 0 })
  expect(stdout).toMatch(/→ INITIATE {3}Socket-Type "DEALER"/)
  expect(stdout).toMatch(/→ plain {10}1 {7}5 {7}9 {2}0\.56× {2}topic\n/)
  expect(stdout).toContain(", lz4+tcp, decrypted, DEALER → DEALER")
  expect(stdout).toContain("    → 2 messages, 9 bytes plain, 17 bytes on the wire, 0.53×\n")
  expect(stdout).not.toContain("encrypted frame")
})

test("other commands take the keys, too", async () => {
  const exchanges = await run("exchanges", "--keys", "keys.log", "--json", "traffic.pcap")
  expect(JSON.parse(exchanges.stdout.split("\n")[0]!)).toMatchObject({
    type: "exchange",
    question: { plainBytes: 5 },
    answer: { plainBytes: 6 },
  })
  const { stderr } = await run("plain", "--keys", "keys.log", "-o", "plain.pcap", "traffic.pcap")
  expect(stderr).toBe(
    "zeromq-lz4: plain.pcap: wrote 1 connection, 3 messages, 2 commands in 10 packets\n",
  )
  const { stdout } = await run("inspect", "plain.pcap")
  expect(stdout).toContain(", tcp, DEALER → DEALER")
  expect(stdout).toContain("→ READY      Socket-Type")
  expect(stdout).not.toMatch(/HELLO|WELCOME|INITIATE|CURVE/)
  const without = await run("plain", "-o", "none.pcap", "traffic.pcap")
  expect(without.stderr).toMatch(/wrote 0 connections, .* left out: 1 encrypted connection\n$/)
})

test("the page gets the keys, and the capture as it is", async () => {
  const { stdout } = await run("page", "--keys", "keys.log", "-o", "-", "traffic.pcap")
  expect(stdout).toContain(
    `id="capture-keys" data-name="keys.log">${Buffer.from(log).toString("base64")}</script>`,
  )
  expect(stdout).toContain(Buffer.from(capture).toString("base64"))
  const overwriting = await run("page", "--keys", "keys.log", "-o", "keys.log", "traffic.pcap")
  expect(overwriting.status).toBe(2)
  expect(readFileSync(at("keys.log"), "latin1")).toBe(log)
})

test("keys may come from a pipe", async () => {
  const pipe = at("keys.pipe")
  execFileSync("mkfifo", [pipe])
  // The command runs in this process, and waits for another.
  const write = () => spawn("cp", [at("keys.log"), pipe])
  write()
  const page = await run("page", "--keys", pipe, "-o", "-", "traffic.pcap")
  expect(page.stdout).toContain(
    `id="capture-keys" data-name="keys.pipe">${Buffer.from(log).toString("base64")}</script>`,
  )
  write()
  const live = await RunningLive.start("--keys", pipe, at("traffic.pcap"))
  await vi.waitFor(async () =>
    expect(await (await fetch(`${live.url}keys?from=0`)).text()).toBe(log),
  )
})

test("what was decrypted is as private as the keys, which it is not written over", async () => {
  file("private.pcap", log)
  chmodSync(at("private.pcap"), 0o600)
  await run("plain", "--keys", "private.pcap", "-o", "opened.pcap", "traffic.pcap")
  expect(statSync(at("opened.pcap")).mode & 0o777).toBe(0o600)
  const over = await run("plain", "--keys", "private.pcap", "-o", "private.pcap", "traffic.pcap")
  expect(over.status).toBe(2)
  expect(readFileSync(at("private.pcap"), "latin1")).toBe(log)
})

test("live serves the key log as it grows", async () => {
  const keys = file("growing.log", "")
  const live = await RunningLive.start("--keys", keys, at("traffic.pcap"))
  expect(await (await fetch(live.url)).text()).toContain(
    'id="capture-keys" data-name="growing.log"',
  )
  expect(await (await fetch(`${live.url}keys?from=0`)).text()).toBe("")
  appendFileSync(keys, log)
  expect(await (await fetch(`${live.url}keys?from=6`)).text()).toBe(log.slice(6))
  expect((await fetch(`${live.url}keys`)).status).toBe(400)
})

test("live without keys serves none", async () => {
  const live = await RunningLive.start(at("traffic.pcap"))
  expect((await fetch(`${live.url}keys?from=0`)).status).toBe(404)
})

test("inspect reads keys that are written while it reads", async () => {
  const keys = file("later.log", "# keys\n")
  const inspect = new Running(
    spawn(
      process.execPath,
      [main, "inspect", "--keys", keys, "--filter", "kind=message or MESSAGE", "-"],
      {
        cwd: directory,
      },
    ),
  )
  const third = Buffer.from(capture).lastIndexOf("\x07MESSAGE") - 60
  const second = Buffer.from(capture).lastIndexOf("\x07MESSAGE", third) - 60
  inspect.process.stdin?.write(capture.subarray(0, second))
  expect(await inspect.line()).toMatch(/^TIME/)
  expect(await inspect.line()).toMatch(/→ MESSAGE {4}encrypted, 34 bytes$/)
  appendFileSync(keys, log)
  inspect.process.stdin?.end(capture.subarray(second))
  expect(await inspect.line()).toMatch(/answer$/)
  expect(await inspect.line()).toMatch(/last$/)
})

describe("says what is wrong", () => {
  test.each([
    ["with a file that is not there", "none.log", "none.log: no such file"],
    ["with a directory", ".", ".: is a directory, not a file"],
    [
      "with a capture",
      "traffic.pcap",
      "--keys traffic.pcap: line 1 of the key log is not CURVE, a public key and a key of 64 hexadecimal digits each",
    ],
  ])("%s", async (_, keys, error) => {
    for (const command of ["inspect", "page"]) {
      const { status, stderr } = await run(
        command,
        "--keys",
        keys,
        ...(command === "page" ? ["-o", "-"] : []),
        "traffic.pcap",
      )
      expect({ status, stderr }).toEqual({ status: 1, stderr: `zeromq-lz4: ${error}\n` })
    }
  })

  test("a line without an end may be very long", async () => {
    file("endless.log", "x".repeat(1 << 20))
    const { stderr } = await run("inspect", "--keys", "endless.log", "traffic.pcap")
    expect(stderr).toMatch(/^zeromq-lz4: --keys endless\.log: line 1 of the key log is not CURVE/)
  })
})
