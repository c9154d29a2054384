/** The hop between libzmq and the links is for this process's user alone, and leaves nothing behind. */
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statSync } from "node:fs"
import { tmpdir, userInfo } from "node:os"
import { join } from "node:path"
import { afterEach, beforeEach, describe, expect, test } from "vitest"

import { Script, type Thread } from "../support/running-script.js"

let root = ""
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "private-hop-"))
})
afterEach(() => {
  rmSync(root, { recursive: true, force: true })
})

const talking = `const pull = new zmq.Pull(); await pull.bind("lz4+tcp://127.0.0.1:*");
  const push = new zmq.Push(); push.connect(pull.lastEndpoint);
  await push.send("1"); console.log(String((await pull.receive())[0]));`

const run = (source: string, tmp = root, thread?: Thread): Script =>
  new Script(`process.env.TMPDIR = argument; process.umask(0); ${source}`, tmp, thread)

describe.each(["worker", "same"] as const)("with links on the %s thread", (thread) => {
  test("only the user may enter the directory, whatever the umask, and it has a name of its own", async () => {
    const scripts = [run(`${talking} setInterval(() => {}, 1000)`, root, thread)]
    scripts.push(run(`${talking} setInterval(() => {}, 1000)`, root, thread))
    for (const script of scripts) expect(await script.line()).toBe("1")
    const directories = readdirSync(root)
    expect(new Set(directories).size).toBe(2)
    for (const directory of directories) {
      const { mode, uid } = statSync(join(root, directory))
      expect(mode & 0o777).toBe(0o700)
      expect(uid).toBe(userInfo().uid)
      expect(directory).toMatch(/^zeromq-lz4-\w{6}$/)
      for (const name of readdirSync(join(root, directory)))
        expect(statSync(join(root, directory, name)).isSocket()).toBe(true)
    }
  })

  test.each([
    { how: "its end", end: "", code: 0 },
    { how: "process.exit()", end: "process.exit(3)", code: 3 },
    { how: "an exception", end: 'throw new Error("thrown on purpose")', code: 1 },
  ])("the directory is gone after $how", async ({ end, code }) => {
    const script = run(`${talking} ${end}`, root, thread)
    expect(await script.line()).toBe("1")
    expect(await script.ended()).toEqual({ code, signal: null })
    expect(readdirSync(root)).toEqual([])
  })

  test("a socket that is closed leaves no file in it", async () => {
    const script = run(
      `${talking} push.close(); pull.close();
      const { readdirSync } = await import("node:fs");
      const [directory] = readdirSync(argument);
      const timer = setInterval(() => {
        if (readdirSync(argument + "/" + directory).length > 0) return;
        clearInterval(timer); console.log("empty") }, 5)`,
      root,
      thread,
    )
    expect(await script.line()).toBe("1")
    expect(await script.line()).toBe("empty")
    expect(await script.ended()).toEqual({ code: 0, signal: null })
  })

  test.each([
    ["has been taken away", ""],
    ["is another that all may enter", "mkdirSync(directory, { mode: 0o777 });"],
  ])("a directory that %s is made anew", async (_, replace) => {
    const script = run(
      `const { mkdirSync, readdirSync, rmSync } = await import("node:fs");
      ${talking}
      const directory = argument + "/" + readdirSync(argument)[0];
      rmSync(directory, { recursive: true }); ${replace}
      const next = new zmq.Pull(); await next.bind("lz4+tcp://127.0.0.1:*");
      const other = new zmq.Push(); other.connect(next.lastEndpoint);
      await other.send("2"); console.log(String((await next.receive())[0]), readdirSync(argument).length)`,
      root,
      thread,
    )
    expect(await script.line()).toBe("1")
    expect(await script.line()).toBe(replace ? "2 2" : "2 1")
    expect(await script.ended(), script.errors).toEqual({ code: 0, signal: null })
  })

  test("a TMPDIR too long for a Unix socket's path works all the same", async () => {
    const long = join(root, "a".repeat(100), "b".repeat(100))
    mkdirSync(long, { recursive: true })
    const script = run(talking, long, thread)
    expect(await script.line()).toBe("1")
    expect(await script.ended(), script.errors).toEqual({ code: 0, signal: null })
    expect(readdirSync(long)).toEqual([])
  })

  test("a TMPDIR that is not there is named by the error", async () => {
    const away = join(root, "away")
    const script = run(
      `await new zmq.Pull().bind("lz4+tcp://127.0.0.1:*").catch((error) => console.log(error.code, error.message));
      try { new zmq.Push().connect("lz4+tcp://127.0.0.1:1") } catch (error) { console.log(error.code) }`,
      away,
      thread,
    )
    const line = await script.line()
    expect(line).toMatch(/^ENOENT /)
    expect(line).toContain(away)
    expect(await script.line()).toBe("ENOENT")
    expect(await script.ended(), script.errors).toEqual({ code: 0, signal: null })
    expect(existsSync(away)).toBe(false)
  })
})
