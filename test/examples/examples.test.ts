/** Every folder of examples/, as a user would try it who has copied it out of the package. */
import { readFileSync, statSync } from "node:fs"
import { get } from "node:http"
import { join } from "node:path"
import { afterAll, beforeAll, describe, expect, test } from "vitest"

import {
  type Engine,
  type EnginePage,
  inChromium,
  launchChromium,
  until,
} from "../browser/engines.js"
import { python } from "../interop/python.js"
import { type Packed, pack, root, temporaryDirectory } from "../support/packed.js"
import type { Group } from "../support/process-group.js"
import { withoutWarning } from "../support/running-script.js"
import { eventually, freePort } from "../support/sockets.js"
import { filesOf, folders, install, manifestOf, start } from "./installed.js"

const directory = temporaryDirectory()
const at = (...path: string[]) => join(directory.path, ...path)
let packed: Packed
let browser: Engine

beforeAll(async () => {
  packed = pack(directory.path)
  const installing = folders.map((name) => install(name, packed.tarball, directory.path))
  browser = inChromium(await launchChromium())
  await Promise.all(installing)
})

afterAll(async () => {
  await browser?.close()
  directory[Symbol.dispose]()
})

/** What each example has to do. */
const examples: Record<string, () => void> = {
  archive() {
    test("records and replays what it has recorded", async () => {
      const [RECORDER, READER] = await endpoints()
      const lines = await outputOf("archive", { RECORDER, READER })
      expect(lines).toEqual([
        "recorded 200 reports of 605184 bytes in all",
        expect.stringMatching(/^reports\.archive has \d+ bytes$/),
        "replayed 200 reports: they are the same",
      ])
      expect(statSync(at("archive/reports.archive")).size).toBeLessThan(605_184 / 5)
    })
  },

  curve() {
    test("makes keys, answers a client and refuses a stranger", async () => {
      const [ENDPOINT] = await endpoints()
      const lines = await outputOf("curve", { ENDPOINT })
      expect(lines).toEqual([
        "made the keys of a server, a client and a stranger in keys/",
        `server: listens at ${ENDPOINT}, clients on its list: 1`,
        "client: How warm is it? It is 21 °C.",
        ...[expect.anything(), expect.anything()],
      ])
      // Each process prints one of these.
      expect(lines).toContain("server: refused a client: Authentication failure")
      expect(lines).toContain("stranger: the server refused the key")
      expect(statSync(at("curve/keys/server.secret")).mode & 0o777).toBe(0o600)
    })
  },

  dashboard() {
    test("shows in a browser what is published", async () => {
      const [FEED] = await endpoints()
      await inBrowser("dashboard", { FEED, PORT: "0" }, async (page) => {
        await until(page, "document.querySelectorAll('article .cpu').length === 12")
        expect(await page.evaluate(textOf("#status"))).toBe("live")
        const traffic = await until<string>(page, textOf("#traffic"))
        const [wire, plain] = traffic.match(/\d+/g)!.map(Number)
        expect(wire).toBeLessThan(plain!)
      })
    })

    test("other sites cannot read it", async () => {
      const [FEED] = await endpoints()
      const program = start("npm start", at("dashboard"), { FEED: FEED!, PORT: "0" })
      const url = await addressOf(program)
      expect(await upgraded(url, new URL(url).origin)).toBe(101)
      expect(await upgraded(url, "http://elsewhere.example")).toBe(401)
    })
  },

  "frame-in-a-page"() {
    test("decodes the frame in the page, and says what is wrong with another", async () => {
      await inBrowser("frame-in-a-page", { PORT: "0" }, async (page) => {
        const parts = await until<string>(page, textOf("#result"))
        expect(parts).toContain("plain, 9 bytes for 5")
        expect(parts).toContain("LZ4B, 246 bytes for 726")
        expect(parts).toContain('"name": "Darjeeling"')
        for (const [hex, shown] of [
          ["00 05 00 00 00 00 41", "plain, 5 bytes for 1"],
          ["00 ff", "frames must be whole messages"],
          ["tea", "not pairs of hexadecimal digits"],
        ]) {
          await page.evaluate(`{
            const field = document.querySelector("#hex")
            field.value = ${JSON.stringify(hex)}
            field.dispatchEvent(new Event("input", { bubbles: true }))
          }`)
          expect(await page.evaluate(textOf("#result"))).toContain(shown)
        }
      })
    })
  },

  "log-pipeline"() {
    test.each([
      ["npm start", "SIGINT"],
      // As a supervisor does: to this process only.
      ["node start.js", "SIGTERM"],
    ] as const)("%s: loses nothing on %s", async (line, signal) => {
      const [FRONT, BACK] = await endpoints()
      const limits = { STOP_WITHIN_MS: "200000", PORT: String(await freePort()) }
      const program = start(line, at("log-pipeline"), { FRONT, BACK, ...limits })
      await eventually(async () => {
        const response = await fetch(`http://127.0.0.1:${limits.PORT}/metrics`)
        const metrics = await response.text()
        const value = (name: string) =>
          Number(metrics.split(`zeromq_lz4_${name} `)[1]?.split("\n")[0])
        return (
          value('connections{socket="front"}') === 2 &&
          value('connections{socket="back"}') === 2 &&
          value('messages_sent_total{socket="back"}') >= 10
        )
      })
      if (signal === "SIGINT") program.signal(signal)
      else program.process.kill(signal)
      const { code } = await program.ended()
      if (signal === "SIGTERM") expect(code).toBe(0)
      expect(errorsOf(program)).toBe("")
      const lines = program.rest()
      const sum = (what: RegExp) =>
        lines.reduce((sum, line) => sum + Number(what.exec(line)?.[1] ?? 0), 0)
      expect(sum(/: sent (\d+) lines/)).toBeGreaterThan(0)
      expect(sum(/: received (\d+) lines/)).toBe(sum(/: sent (\d+) lines/))
      expect(lines).toContain("broker: passed on all that it received")
    })
  },

  "moving-over"() {
    test("messages go through both ports at every step", async () => {
      const [ORDERS_PORT, PRICES_PORT] = [String(await freePort()), String(await freePort())]
      const lines = await outputOf("moving-over", { ORDERS_PORT, PRICES_PORT })
      expect(lines.map((line) => line.replace(/^( +\w+ +\S+).*/, "$1"))).toEqual([
        "Everything is plain",
        ...["  orders  tcp", "  prices  tcp"],
        "The port for orders has moved; its client has not",
        ...["  orders  tcp", "  prices  tcp"],
        "The client for orders has moved",
        ...["  orders  lz4+tcp", "  prices  tcp"],
        "The client for prices has moved, before its port",
        ...["  orders  lz4+tcp", "  prices  tcp"],
        "The port for prices has moved",
        ...["  orders  lz4+tcp", "  prices  lz4+tcp"],
        "No peer is plain any more, so the service no longer accepts them",
        ...["  orders  lz4+tcp", "  prices  lz4+tcp"],
      ])
    })
  },

  "python-peers"() {
    test("prints what the worker has found", async () => {
      const [TEXTS, RESULTS] = await endpoints()
      const lines = await outputOf("python-peers", { TEXTS, RESULTS, PYTHON: python() })
      expect(lines.sort()).toEqual([
        expect.stringMatching(/^Node [\d.]+: sent 28409 bytes as \d+$/),
        expect.stringMatching(/^Python 3[\d.]+: waits for texts$/),
        "coffee: 2400 words, most often “coffee” (800 times)",
        "tea: 3000 words, most often “tea” (1000 times)",
      ])
    })

    test("its pyomq is the one that the other tests have", () => {
      const requirements = readFileSync(join(root, "test/interop/requirements.txt"), "utf8")
      const [wanted] = readFileSync(at("python-peers/requirements.txt"), "utf8").split("\n")
      expect(requirements).toContain(`${wanted};`)
    })
  },
}

test("each folder has a test, and a line in the README", () => {
  expect(Object.keys(examples).sort()).toEqual([...folders].sort())
  const listed = readFileSync(join(root, "examples/README.md"), "utf8").matchAll(/^\| \[(.*?)\]/gm)
  expect(Array.from(listed, ([, name]) => name).sort()).toEqual([...folders].sort())
})

describe.each(folders)("%s", (name) => {
  const { dependencies, scripts } = manifestOf(name)

  test("is in the package, with all its files and nothing that it has made", () => {
    const inPackage = packed.files.filter((file) => file.startsWith(`examples/${name}/`))
    const own = filesOf(name).map((file) => `examples/${name}/${file}`)
    expect(inPackage.sort()).toEqual(own.sort())
  })

  test("wants a version of the package that is not older than this one", () => {
    const { version } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"))
    const minor = (version: string) => Number(/^\^?0\.(\d+)\./.exec(version)?.[1])
    expect(minor(dependencies["zeromq-lz4"]!)).toBeGreaterThanOrEqual(minor(version))
  })

  if (scripts.test)
    test("its own tests pass", async () => {
      const program = start("npm test", at(name))
      const { code } = await program.ended()
      expect(code, program.rest().join("\n") + program.errors).toBe(0)
    })

  examples[name]?.()
})

/** Returns some endpoints of which nobody uses the ports. */
async function endpoints(): Promise<[string, string]> {
  return [`lz4+tcp://127.0.0.1:${await freePort()}`, `lz4+tcp://127.0.0.1:${await freePort()}`]
}

/** What a program wrote to standard error, besides what may happen on a busy machine. */
const errorsOf = (program: Group): string => withoutWarning(program.errors)

/** Runs an example to its end, which has to be a good one, and returns its lines. */
async function outputOf(name: string, environment: Record<string, string>): Promise<string[]> {
  const program = start("npm start --silent", at(name), environment)
  const { code } = await program.ended()
  expect(errorsOf(program)).toBe("")
  expect(code).toBe(0)
  return program.rest()
}

/** Returns the address that an example prints. */
async function addressOf(program: Group): Promise<string> {
  for (;;) {
    const [, url] = /^Open (\S+) and press Ctrl\+C/.exec(await program.line()) ?? []
    if (url) return url
  }
}

/** Opens the page of an example, and ends it as Ctrl+C does. */
async function inBrowser(
  name: string,
  environment: Record<string, string>,
  look: (page: EnginePage) => Promise<void>,
): Promise<void> {
  const program = start("npm start", at(name), environment)
  const page = await browser.open(await addressOf(program))
  await look(page)
  program.signal("SIGINT")
  await program.ended()
  expect(errorsOf(program)).toBe("")
  await page.close()
}

/** Returns the status with which a server answers a page of `origin` that asks for a WebSocket. */
function upgraded(url: string, origin: string): Promise<number | undefined> {
  const headers = {
    ...{ Connection: "Upgrade", Upgrade: "websocket", Origin: origin },
    ...{ "Sec-WebSocket-Version": "13", "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==" },
  }
  return new Promise((resolve, reject) => {
    get(url, { headers })
      .on("error", reject)
      .on("response", (response) => resolve(response.resume().statusCode))
      .on("upgrade", (response, socket) => {
        socket.destroy()
        resolve(response.statusCode)
      })
  })
}

const textOf = (selector: string): string =>
  `document.querySelector(${JSON.stringify(selector)}).textContent`
