/** A process in which a library has put properties on the prototype of all objects. */
import { execFile } from "node:child_process"
import { readdirSync, readFileSync } from "node:fs"
import { promisify } from "node:util"
import { expect, test } from "vitest"
import { root } from "../support/packed.js"

const run = promisify(execFile)

/** None of these is valid as an option. */
const NAMES = [
  ...["dictionary", "autoDictionary", "minCompressSize", "acceleration", "level", "arenas"],
  ...["revision", "maxMessageSize", "wasm", "thread", "receiveHighWaterBytes", "acceptPlain"],
  ...["routingId", "capacity", "trigger", "onProgress", "transport", "env", "argv", "stdin"],
]

async function runPolluted(body: string, ...names: string[]): Promise<unknown> {
  const script = `
    for (const name of ${JSON.stringify([...NAMES, ...names])})
      Object.defineProperty(Object.prototype, name, {
        ...Object.assign(Object.create(null), { value: () => {}, enumerable: true }),
      })
    const assign = (value) => console.log(JSON.stringify(Object.assign(Object.create(null), { value })))
    const main = async () => { ${body} }
    main().then((value) => { assign(value); process.exit() }, (error) => { console.error(error); process.exit(1) })`
  const { stdout } = await run(process.execPath, ["-e", script], { cwd: root })
  return JSON.parse(stdout).value
}

test.each(["zeromq-lz4", "zeromq-lz4/draft", "zeromq-lz4/codec", "zeromq-lz4/capture"])(
  "%s can be required, and has the same names",
  async (entry) => {
    const names = `Object.getOwnPropertyNames(require("${entry}")).sort()`
    const clean = await run(process.execPath, ["-p", `JSON.stringify(${names})`], { cwd: root })
    expect(await runPolluted(`return ${names}`)).toEqual(JSON.parse(clean.stdout))
  },
)

test("no module of the package iterates over inherited properties", () => {
  const files = readdirSync(`${root}dist`, { recursive: true, encoding: "utf8" })
  const iterating = files
    .filter((file) => /\.(c|m)?js$/.test(file))
    .filter((file) =>
      /\bfor ?\((var|let|const) [\w$]+ in\b/.test(readFileSync(`${root}dist/${file}`, "utf8")),
    )
  expect(iterating).toEqual([])
})

test("options of codecs, captures and training are own properties", async () => {
  const value = await runPolluted(
    `const { Codec, trainDictionary } = require("zeromq-lz4/codec")
     const { decodeCapture, decodeFrames, readCapture, CaptureReader } = require("zeromq-lz4/capture")
     const text = Buffer.from("hello")
     const opened = [Codec.createSync(), Codec.createSync({}), await Codec.create({}),
       Codec.createSync({ autoDictionary: {} })]
     await trainDictionary([text], {})
     const stream = Buffer.concat([Buffer.from([0xff, 0, 0, 0, 0, 0, 0, 0, 1, 0x7f, 3, 1]),
       Buffer.from("NULL"), Buffer.alloc(48), Buffer.from([0, 5]), text])
     decodeCapture(stream, {})
     new CaptureReader({}).close()
     for await (const event of readCapture((async function* () { yield stream })(), {}));
     decodeFrames(Buffer.from([0, 5, ...text]), Object.assign(Object.create(null), { transport: "tcp" }))
     return opened.map((codec) => Buffer.from(codec.decodePart(codec.encodePart(text))).toString())`,
  )
  expect(value).toEqual(["hello", "hello", "hello", "hello"])
})

test.each([{ thread: false }, { thread: true }])(
  "options of sockets are own properties: %o",
  async (options) => {
    const value = await runPolluted(
      `const zmq = require("zeromq-lz4")
       // Node's own loader would take the path for that of a module.
       Object.prototype.path = "/nowhere"
       const options = Object.assign(Object.create(null), ${JSON.stringify(options)})
       const pull = new zmq.Pull()
       await pull.bind("lz4+tcp://127.0.0.1:*", options)
       const router = new zmq.Router()
       await router.bind("lz4+tcp://127.0.0.1:*", options)
       const other = new zmq.Router()
       other.connect(router.lastEndpoint, options)
       const push = new zmq.Push()
       push.connect(pull.lastEndpoint, options)
       await push.send("hello")
       await push.lz4.flush({})
       const [part] = await pull.receive()
       return String(part)`,
      // In Windows, Node's loader takes this one for its own.
      ...(process.platform === "win32" ? [] : ["timeout"]),
    )
    expect(value).toBe("hello")
  },
)
