/** Processes in which WebAssembly cannot start: without it, or with too few addresses for its memory. */
import { spawn } from "node:child_process"
import { join } from "node:path"
import { expect, test } from "vitest"

import { Running } from "../support/running-script.js"

const GIB_KIB = 2 ** 20

/** Starts a script with limited addresses, in GiB, or without a limit. */
function start(source: string, flags: readonly string[], gib: number | "unlimited"): Running {
  const kib = gib === "unlimited" ? gib : gib * GIB_KIB
  const head = `const zmq = require("zeromq-lz4");
    const tell = (what) => (error) => console.log(what, error.code, error.message);`
  const node = [process.execPath, ...flags, "--eval", `${head} (async () => {${source}})()`]
  return new Running(
    spawn("sh", ["-c", `ulimit -v ${kib}; exec "$@"`, "sh", ...node], {
      cwd: join(import.meta.dirname, "../.."),
      stdio: ["ignore", "pipe", "pipe"],
    }),
  )
}

const cannotStart = [
  { why: "--jitless", flags: ["--jitless"], gib: "unlimited" as const, code: "ERR_LZ4_WASM" },
  { why: "ulimit -v", flags: [], gib: 2, code: "ERR_LZ4_OUT_OF_MEMORY" },
].flatMap((row) => [
  { ...row, thread: false },
  { ...row, thread: true },
])

test.each(cannotStart)(
  "with $why, everything that needs WebAssembly fails with a code (thread: $thread)",
  async ({ flags, gib, code, why, thread }) => {
    const script = start(
      `const { Codec } = require("zeromq-lz4/codec"), { decodeCapture } = require("zeromq-lz4/capture");
      const any = "lz4+tcp://127.0.0.1:*", options = { thread: ${thread} };
      const socket = new zmq.Pair();
      socket.events.on("bind:error", ({ error }) => tell("event")(error));
      await Codec.create().catch(tell("create"));
      for (const [name, call] of Object.entries({
        createSync: () => Codec.createSync(),
        decodeCapture: () => decodeCapture(new Uint8Array(24)),
        bindSync: () => socket.bindSync(any, options),
        connect: () => socket.connect("lz4+tcp://127.0.0.1:5555", options),
      })) try { await call(); console.log(name, "did not fail") } catch (error) { tell(name)(error) }
      await socket.bind(any, options).catch(tell("bind"));
      setTimeout(() => { console.log("end"); socket.close() }, 1)`,
      flags,
      gib,
    )
    const lines: string[] = []
    for (let line = await script.line(); line !== "end"; line = await script.line())
      lines.push(line)
    const names = ["create", "createSync", "decodeCapture", "bindSync", "connect", "bind"]
    expect(lines.map((line) => line.split(" ", 2).join(" ")).sort()).toEqual(
      [...names, "event", "event"].map((name) => `${name} ${code}`).sort(),
    )
    for (const line of lines) expect(line).toContain(why)
    expect((await script.ended()).code).toBe(0)
  },
)

test("a thread that lacks addresses does not end: connect() warns once, and tries again", async () => {
  const script = start(
    `const { Worker } = require("node:worker_threads");
    let workers = 0, retries = 0;
    process.on("worker", () => workers++);
    process.on("warning", ({ code, message }) => console.log(code, message));
    const socket = new zmq.Pair({ reconnectInterval: 1 });
    socket.events.on("connect:retry", () => {
      if (++retries === 5) { console.log(workers, "worker"); socket.close() }
    });
    await socket.bind("lz4+tcp://127.0.0.1:*", { thread: true }).catch(tell("bind"));
    socket.connect("lz4+tcp://127.0.0.1:5555", { thread: true });`,
    [],
    // Enough for one memory, and not for those of a thread.
    16,
  )
  expect(await script.line()).toMatch(/^bind ERR_LZ4_OUT_OF_MEMORY .*ulimit -v/)
  expect(await script.line()).toMatch(/^ERR_LZ4_THREAD .*ulimit -v/)
  expect(await script.line()).toBe("1 worker")
  expect((await script.ended()).code).toBe(0)
})
