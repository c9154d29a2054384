/** The unit files and the compose file of docs/bridge.md: their command lines, and what they refer to. */
import { spawn } from "node:child_process"
import { once } from "node:events"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, describe, expect, onTestFinished, test } from "vitest"
import { parse } from "yaml"

import { readArgs } from "../../../src/cli/bridge.js"
import { formatKey } from "../../../src/curve/keys.js"
import { ownTests } from "../../support/around-blocks.js"
import { pair } from "../../support/curve.js"
import { documentedBlocks } from "../../support/documents.js"

const directory = mkdtempSync(join(tmpdir(), "zeromq-lz4-services-"))
afterAll(() => rmSync(directory, { recursive: true }))
writeFileSync(join(directory, "bridge.secret"), formatKey(pair(1).secretKey))
writeFileSync(join(directory, "collector.public"), formatKey(pair(2).publicKey))

const codeOf = (name: string) =>
  documentedBlocks().find((block) => block.name === name)?.code as string

/** Reads the arguments behind `node main.js bridge` as the bridge does, with our keys in the place of theirs. */
async function argumentsIn(words: readonly string[]) {
  const [node, main, command, ...args] = words
  expect(node).toMatch(/^(\/[a-z]+)+\/node$/)
  expect(main).toBe("/opt/bridge/node_modules/zeromq-lz4/dist/cli/main.js")
  expect(command).toBe("bridge")
  return readArgs(
    args.map((arg) => arg.replace(/(%d|\/etc\/zeromq-lz4|\/run\/secrets)(?=\/)/, directory)),
  )
}

/** Parses a unit file: the values of each setting, of which an empty one removes those before it. */
function unit(code: string): Map<string, string[]> {
  const settings = new Map<string, string[]>()
  for (const line of code.trimEnd().split("\n")) {
    const [, name = "", value = ""] = /^(\w+)=(.*)$/.exec(line) ?? []
    if (name === "") expect(line).toMatch(/^$|^\[(Unit|Service|Install)\]$/)
    else settings.set(name, value === "" ? [] : [...(settings.get(name) ?? []), value])
  }
  return settings
}

describe("systemd", () => {
  test("the unit's command line is one of the bridge", async () => {
    const [line, ...more] = unit(codeOf(ownTests.services[0])).get("ExecStart") as string[]
    expect(more).toEqual([])
    const { spec, metrics } = await argumentsIn(line?.split(" ") as string[])
    expect(spec).toMatchObject({ from: "tcp://127.0.0.1:5566", to: "lz4+tcp://collector:5555" })
    expect(metrics).toBe("127.0.0.1:9464")
  })

  test("the unit with keys replaces the command line, and passes on the credential that it reads", async () => {
    const settings = unit(codeOf(ownTests.serviceWithKeys))
    const [line, ...more] = settings.get("ExecStart") as string[]
    expect(more).toEqual([])
    const { spec } = await argumentsIn(line?.split(" ") as string[])
    expect(spec.toCurve).toMatchObject({ isServer: false, publicKey: pair(1).publicKey })
    expect(spec.settings.effort).not.toBe(0)
    const [credential] = settings.get("LoadCredential") as string[]
    expect(line).toContain(` %d/${credential?.split(":")[0]} `)
  })
})

describe("Compose", () => {
  const { services, secrets } = parse(codeOf(ownTests.compose))
  const { bridge } = services

  test("the command line is one of the bridge, and its ports and secrets are those of the service", async () => {
    const { spec, metrics } = await argumentsIn(bridge.command)
    expect(spec.toCurve?.serverKey).toEqual(pair(2).publicKey)
    const [port] = /\d+$/.exec(spec.from) as string[]
    expect(bridge.ports).toEqual([`127.0.0.1:${port}:${port}`])
    expect(bridge.healthcheck.test.at(-1)).toContain(`127.0.0.1:${metrics?.split(":")[1]}/health`)
    expect(bridge.secrets).toEqual(Object.keys(secrets))
    for (const name of bridge.secrets)
      expect(bridge.command.join()).toContain(`/run/secrets/${name}`)
    expect(JSON.stringify(bridge)).not.toContain("$") // of which Compose makes variables
  })

  test.each([
    { status: 200, code: 0 },
    { status: 503, code: 1 },
  ])("the health check exits with $code if the answer is $status", async ({ status, code }) => {
    const server = createServer((_, response) => response.writeHead(status).end("{}"))
    onTestFinished(() => void server.close())
    await once(server.listen(0, "127.0.0.1"), "listening")
    const [, , option, script] = bridge.healthcheck.test
    const { port } = server.address() as AddressInfo
    const check = spawn(process.execPath, [option, script.replace("9464", `${port}`)])
    expect((await once(check, "close"))[0]).toBe(code)
  })
})
