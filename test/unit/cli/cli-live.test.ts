/** `zeromq-lz4 live`: what it serves, to whom, and how it ends. */
import { execFileSync } from "node:child_process"
import { once } from "node:events"
import {
  appendFileSync,
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  statSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from "node:fs"
import { connect, type Socket } from "node:net"
import { join } from "node:path"
import { text } from "node:stream/consumers"
import { gzipSync } from "node:zlib"
import { afterAll, expect, onTestFinished, test } from "vitest"
import { runCommand } from "../../support/command.js"
import { temporaryDirectory } from "../../support/packed.js"
import { RunningLive } from "../../support/running-live.js"
import { freePort } from "../../support/sockets.js"

const directory = temporaryDirectory()
afterAll(() => directory[Symbol.dispose]())
const at = (name: string) => join(directory.path, name)

/** Returns what a server answers to these bytes, up to the end of the connection. */
async function answerTo(live: RunningLive, request: string): Promise<string> {
  const socket = connect(Number(new URL(live.url).port), "127.0.0.1")
  socket.on("error", () => {}) // it may be closed before all is written
  socket.write(request)
  return text(socket)
}

const body = async (response: Response) => Buffer.from(await response.arrayBuffer()).toString()

/** Waits until there are as many bytes. */
async function grown(live: RunningLive, bytes: number): Promise<Response> {
  for (;;) {
    const response = await live.recording()
    if (Number(response.headers.get("content-length")) >= bytes) return response
    await response.body?.cancel()
  }
}

test("serves the page, which may ask its own server and nobody else", async () => {
  const live = await RunningLive.start("-")
  const response = await fetch(live.url)
  expect(response.status).toBe(200)
  expect(Object.fromEntries(response.headers)).toMatchObject({
    "cache-control": "no-store",
    "content-security-policy": "frame-ancestors 'none'",
    "content-type": "text/html; charset=utf-8",
    "cross-origin-resource-policy": "same-origin",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
  })
  expect(response.headers.has("access-control-allow-origin")).toBe(false)
  const page = await response.text()
  const [, policy = ""] = /Content-Security-Policy" content="([^"]*)"/.exec(page) ?? []
  expect(policy).toMatch(/^default-src 'none'; connect-src 'self'; script-src 'sha256-/)
  expect(page).toContain(
    '<script type="text/plain" id="recording" data-name="standard input"></script>',
  )
})

test("serves what comes, from any place on, and says when it has ended", async () => {
  const live = await RunningLive.start("-")
  const empty = await live.recording()
  expect([empty.headers.get("x-recording"), await body(empty)]).toEqual(["live", ""])
  await live.write(Buffer.from("hello "))
  expect(await body(await grown(live, 6))).toBe("hello ")
  await live.write(Buffer.from("world"))
  await grown(live, 11)
  expect(await body(await live.recording(6))).toBe("world")
  expect(await body(await live.recording(11))).toBe("")
  expect((await live.recording(12)).status).toBe(416)
  live.end()
  for (;;) {
    const response = await live.recording(6)
    expect(await body(response)).toBe("world")
    if (response.headers.get("x-recording") === "ended") break
  }
  expect(live.running).toBe(true)
  live.process.kill("SIGTERM")
  expect(await live.ended()).toEqual({ code: 0, signal: null })
  expect(live.errors).toBe("standard input has ended; the page stays until Ctrl-C\n")
})

test("unpacks gzip, and keeps what came before damage", async () => {
  const content = "x".repeat(300_000)
  const packed = gzipSync(content)
  const live = await RunningLive.start("-")
  await live.write(packed.subarray(0, packed.length - 8))
  live.end()
  await grown(live, 1)
  while ((await live.recording()).headers.get("x-recording") !== "ended");
  live.process.kill("SIGINT")
  expect(await live.ended()).toEqual({ code: 1, signal: null })
  expect(live.errors).toContain("standard input: the file ends in the middle of the gzip data")
})

test("reads a file where it is, and a pipe", async () => {
  const file = at("growing")
  writeFileSync(file, "one")
  const live = await RunningLive.start(file)
  expect(await body(await grown(live, 3))).toBe("one")
  appendFileSync(file, " two")
  expect(await body(await grown(live, 7))).toBe("one two")
  truncateSync(file, 2)
  expect((await live.recording(7)).status).toBe(416)
  live.process.kill("SIGINT")
  expect(await live.ended()).toEqual({ code: 0, signal: null })

  execFileSync("mkfifo", [at("pipe")])
  const piped = await RunningLive.start(at("pipe"))
  writeFileSync(at("pipe"), "through a pipe")
  expect(await body(await grown(piped, 14))).toBe("through a pipe")
})

test("ends while a pipe has no writer, or one that is silent", async () => {
  const pipe = at("silent")
  execFileSync("mkfifo", [pipe])
  const unwritten = await RunningLive.start(pipe)
  unwritten.process.kill("SIGINT")
  expect(await unwritten.ended()).toEqual({ code: 0, signal: null })

  const live = await RunningLive.start(pipe)
  const writer = openSync(pipe, "w")
  writeSync(writer, "one")
  expect(await body(await grown(live, 3))).toBe("one")
  live.process.kill("SIGINT")
  expect(await live.ended()).toEqual({ code: 0, signal: null })
  expect(live.errors).toBe("")
  closeSync(writer)
})

/** Starts it with other variables in its environment. */
async function startWith(variables: Record<string, string>, ...args: string[]) {
  const { env } = process
  process.env = { ...env, ...variables }
  try {
    return await RunningLive.start(...args)
  } finally {
    process.env = env
  }
}

test("keeps standard input in a file that only it has, and leaves nothing", async () => {
  const temporary = at("tmp")
  mkdirSync(temporary)
  const live = await startWith({ TMPDIR: temporary }, "-")
  await live.write(Buffer.from("secret"))
  await grown(live, 6)
  expect(readdirSync(temporary)).toEqual([])
  live.process.kill("SIGINT")
  expect(await live.ended()).toEqual({ code: 0, signal: null })
})

test.each(["SIGINT", "SIGTERM", "SIGHUP"] as const)(
  "opens a browser, whose arguments other users can see, without the secret, until %s",
  async (signal) => {
    const seen = at(`seen-${signal}`)
    const browser = at("browser.sh")
    writeFileSync(browser, `printf %s "$1" > ${seen}.part; mv ${seen}.part ${seen}`)
    const live = await startWith({ BROWSER: `sh ${browser}` }, "--open", "-")
    while (!existsSync(seen)) await new Promise((resolve) => setImmediate(resolve))
    const page = new URL(readFileSync(seen, "utf8"))
    expect(page.protocol).toBe("file:")
    expect(statSync(page).mode & 0o777).toBe(0o600)
    expect(readFileSync(page, "utf8")).toContain(`content="0; url=${live.url}"`)
    live.process.kill(signal)
    expect(await live.ended()).toEqual({ code: 0, signal: null })
    expect(existsSync(page)).toBe(false)

    const without = await startWith({ BROWSER: "/nonexistent" }, "--open", "-")
    while (without.errors === "") await new Promise((resolve) => setImmediate(resolve))
    expect(without.errors).toBe("no browser could be started: open this address in one\n")
  },
)

test("readers that do not read hold up neither input nor other readers", async () => {
  const live = await RunningLive.start("-")
  const megabyte = Buffer.alloc(1 << 20, 7)
  await live.write(megabyte)
  await (await grown(live, megabyte.length)).body?.cancel()
  const { port, pathname } = new URL(live.url)
  const slow: Socket[] = []
  for (let i = 0; i < 64; i++) {
    const socket = connect(Number(port), "127.0.0.1").pause()
    socket.on("error", () => {}) // the server ends first
    socket.write(`GET ${pathname}recording?from=0 HTTP/1.1\r\nhost: 127.0.0.1:${port}\r\n\r\n`)
    slow.push(socket)
    await live.write(megabyte)
  }
  const whole = await grown(live, 65 * megabyte.length)
  expect((await whole.arrayBuffer()).byteLength).toBe(65 * megabyte.length)
  live.process.kill("SIGINT")
  expect(await live.ended()).toEqual({ code: 0, signal: null })
  for (const socket of slow) socket.destroy()
})

test("refuses what is not for it, and goes on", async () => {
  const live = await RunningLive.start("-")
  await live.write(Buffer.from("hello"))
  await grown(live, 5)
  const { host, origin, pathname } = new URL(live.url)
  const wrong = pathname.replace(/.(.)\/$/, (_, last) => `${last === "A" ? "BB" : "AA"}/`)
  const head = (line: string, name = host) => `${line} HTTP/1.1\r\nhost: ${name}\r\n`
  const close = "connection: close\r\n\r\n"
  const get = (path: string, name = host) => `${head(`GET ${path}`, name)}${close}`
  const refused: [status: number, request: string][] = [
    [404, get("/")],
    [404, get("/recording?from=0")],
    [404, get(wrong)],
    [404, get(`${wrong}recording?from=0`)],
    [404, get(pathname.slice(0, -1))],
    [404, get(`${pathname}../../../etc/passwd`)],
    [404, get(`${pathname}%2e%2e/%2e%2e/etc/passwd`)],
    [404, get(`${pathname}recording/`)],
    [404, get(`${origin}${pathname}`)],
    [404, get(`/${"x".repeat(4000)}`)],
    [400, get(`${pathname}recording`)],
    [400, get(`${pathname}recording?from=-1`)],
    [400, get(`${pathname}recording?from=1e3`)],
    [416, get(`${pathname}recording?from=999999999999999`)],
    // A name of a stranger's that leads here.
    [421, get(pathname, "evil.example")],
    [421, get(pathname, `evil.example:${new URL(live.url).port}`)],
    [421, get(pathname, "127.0.0.1.evil.example")],
    [421, get(pathname, "")],
    [400, `GET ${pathname} HTTP/1.1\r\n${close}`],
    [405, `${head(`POST ${pathname}`)}content-length: 5\r\n${close}hello`],
    [405, `${head(`OPTIONS ${pathname}recording`)}origin: http://evil.example\r\n${close}`],
    [405, `${head(`DELETE ${pathname}recording?from=0`)}${close}`],
    [431, `${head(`GET ${pathname}`)}x: ${"y".repeat(20_000)}\r\n${close}`],
    [400, `nonsense\r\n\r\n`],
  ]
  for (const [status, request] of refused) {
    const answer = await answerTo(live, request)
    expect(answer.split("\r\n")[0], request.slice(0, 200)).toMatch(`HTTP/1.1 ${status} `)
    expect(answer).not.toContain("inspector")
    expect(answer.toLowerCase()).not.toContain("access-control")
  }
  const headers = await answerTo(live, `${head(`HEAD ${pathname}recording?from=1`)}${close}`)
  expect(headers).toMatch(/^HTTP\/1.1 200 /)
  expect(headers).toContain("content-length: 4\r\n")
  expect(headers).toMatch(/\r\n\r\n$/)
  // Of those that end in the middle, nothing is left.
  for (let i = 0; i < 20; i++) {
    const socket = connect(Number(new URL(live.url).port), "127.0.0.1")
    socket.write(get(`${pathname}recording?from=0`).slice(0, i % 2 ? -2 : undefined))
    socket.destroy()
  }
  expect(await body(await live.recording())).toBe("hello")
  expect(await answerTo(live, get(`${pathname}recording?from=0`, "localhost:8080"))).toMatch(
    /^HTTP\/1.1 200 [\s\S]*hello$/,
  )
  live.process.kill("SIGINT")
  expect(await live.ended()).toEqual({ code: 0, signal: null })
  expect(live.errors).toBe("")
})

test("closes connections that ask for nothing, which would keep pages out", async () => {
  const live = await RunningLive.start("-")
  // As many as are accepted at once.
  const idle = Array.from({ length: 256 }, () => answerTo(live, ""))
  const [first] = await Promise.all(idle)
  expect(first).toMatch(/^HTTP\/1\.1 408 /)
  expect((await fetch(live.url)).status).toBe(200)
})

test("serves its page while others leave parts of requests", async () => {
  const live = await RunningLive.start("-")
  const { port } = new URL(live.url)
  const open: Socket[] = []
  onTestFinished(() => {
    for (const socket of open) socket.destroy()
  })
  for (let i = 0; i < 600; i++) {
    const socket = connect(Number(port), "127.0.0.1")
    socket.on("error", () => {})
    open.push(socket)
    await once(socket, "connect")
    socket.write("G")
  }
  expect((await fetch(live.url)).status).toBe(200)
})

test("has a port of its own, or the one that is asked for", async () => {
  const port = await freePort()
  const live = await RunningLive.start("--port", String(port), "-")
  expect(new URL(live.url).port).toBe(String(port))
  const second = await runCommand(directory.path, ["live", "--port", `${port}`, "-"])
  expect(second).toMatchObject({ status: 1, stdout: "" })
  expect(second.stderr).toContain(`cannot listen on 127.0.0.1:${port}: address already in use`)
})

test.each([
  [2, "no option --json; there are --open, --port, --dictionary", ["--json", "-"]],
  [2, "no FILE", []],
  [2, "live takes one FILE", ["a", "b"]],
  [2, "--port is 0 to 65535; got 65536", ["--port", "65536", "-"]],
  [2, "--port must be a whole number", ["--port", "any", "-"]],
  [1, "missing: no such file", ["missing"]],
  [1, "is a directory, not a file", ["."]],
  [1, "missing: no such file", ["--dictionary", "missing", "-"]],
  [1, "x.pcap.gz is compressed: gunzip -c FILE | zeromq-lz4 live -", ["x.pcap.gz"]],
])("is refused with exit code %i: %s", async (status, message, args) => {
  writeFileSync(at("x.pcap.gz"), gzipSync(""))
  const result = await runCommand(directory.path, ["live", ...args])
  expect(result).toMatchObject({ status, stdout: "" })
  expect(result.stderr).toContain(message)
})

test("--port is only for live", async () => {
  const { status, stderr } = await runCommand(directory.path, ["inspect", "--port", "1", "x"])
  expect([status, stderr]).toEqual([2, expect.stringContaining("no option --port")])
})
