/** `zeromq-lz4 keygen`. */
import { spawnSync } from "node:child_process"
import {
  chmodSync,
  linkSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs"
import { describe, expect, test } from "vitest"

import { formatKey, parseKey } from "../../../src/curve/keys.js"
import { runCommand } from "../../support/command.js"
import { curve } from "../../support/curve.js"
import { directoryOfTests } from "../../support/directory-of-tests.js"

const { directory, at } = directoryOfTests()
const run = (...args: string[]) => runCommand(directory, ["keygen", ...args])
const publicOf = (secret: string) => formatKey(curve.publicKey(parseKey("secret", secret)))
const modeOf = (file: string) => (statSync(file).mode & 0o777).toString(8)
const keyIn = (file: string) => /^(.{40})\n$/.exec(readFileSync(file, "latin1"))?.[1] as string

test("prints variables that a shell takes as they are", async () => {
  const { status, stdout, stderr } = await run()
  expect({ status, stderr }).toEqual({ status: 0, stderr: "" })
  const lines = /^CURVE_PUBLIC_KEY='(.{40})'\nCURVE_SECRET_KEY='(.{40})'\n$/.exec(stdout)
  const [, publicKey, secretKey] = lines as unknown as string[]
  expect(publicOf(secretKey as string)).toBe(publicKey)
  const echoed = spawnSync("sh", [
    "-c",
    `${stdout} printf '%s ' "$CURVE_PUBLIC_KEY" "$CURVE_SECRET_KEY"`,
  ])
  expect(String(echoed.stdout)).toBe(`${publicKey} ${secretKey} `)
  expect((await run()).stdout).not.toBe(stdout)
  expect((await run("-o", "-")).stdout).toMatch(/^CURVE_PUBLIC_KEY=/)
})

test("keygen --json prints an object", async () => {
  const { publicKey, secretKey } = JSON.parse((await run("--json")).stdout)
  expect(publicOf(secretKey)).toBe(publicKey)
})

describe("-o", () => {
  test("writes a file for each key, the secret one for its owner only, and does not print that", async () => {
    const { status, stdout, stderr } = await run("-o", at("first"))
    expect({ status, stderr }).toEqual({ status: 0, stderr: "" })
    const secretKey = keyIn(at("first.secret"))
    expect(publicOf(secretKey)).toBe(keyIn(at("first.public")))
    expect(modeOf(at("first.secret"))).toBe("600")
    expect(stdout).toContain(`first.public: the public key, ${publicOf(secretKey)}\n`)
    expect(stdout).not.toContain(secretKey)
    const json = JSON.parse((await run("-o", at("json"), "--json")).stdout)
    expect(json).toEqual({
      publicKey: keyIn(at("json.public")),
      publicKeyFile: at("json.public"),
      secretKeyFile: at("json.secret"),
    })
  })

  test.each(["public", "secret"])(
    "replaces no %s key, and leaves the other alone",
    async (kind) => {
      const name = `kept-${kind}`
      writeFileSync(at(`${name}.${kind}`), "kept")
      const { status, stdout, stderr } = await run("-o", at(name))
      expect({ status, stdout }).toEqual({ status: 1, stdout: "" })
      expect(stderr).toMatch(new RegExp(`^zeromq-lz4: .*${name}.${kind}: exists; --force replaces`))
      expect(stderr.split("\n")).toHaveLength(2)
      expect(readdirSync(directory).filter((file) => file.startsWith(name))).toEqual([
        `${name}.${kind}`,
      ])
      expect(readFileSync(at(`${name}.${kind}`), "utf8")).toBe("kept")
    },
  )

  test("--force makes new files: none that others may read, and none that a link leads to", async () => {
    writeFileSync(at("other"), "other")
    writeFileSync(at("forced.secret"), "old")
    chmodSync(at("forced.secret"), 0o644)
    linkSync(at("forced.secret"), at("linked"))
    symlinkSync(at("other"), at("forced.public"))
    expect((await run("-o", at("forced"), "--force")).status).toBe(0)
    expect(publicOf(keyIn(at("forced.secret")))).toBe(keyIn(at("forced.public")))
    expect(modeOf(at("forced.secret"))).toBe("600")
    expect(readFileSync(at("linked"), "utf8")).toBe("old")
    expect(readFileSync(at("other"), "utf8")).toBe("other")
  })

  test.each([
    ["missing/name.secret: no such directory", 1, ["-o", "missing/name"]],
    ["--force is for -o", 2, ["--force"]],
    ["-o has no NAME", 2, ["-o", ""]],
    ["'more'", 2, ["more"]],
  ])("%s", async (says, code, args) => {
    const { status, stdout, stderr } = await run(...args)
    expect({ status, stdout }).toEqual({ status: code, stdout: "" })
    expect(stderr).toContain(says)
  })
})
