/** Clients with CURVE whose keys are in a list, or in a file that changes. */
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { describe, expect, onTestFinished, test } from "vitest"
import { allowClients, Context, curveKeyPair, Pull, Push, z85Decode, z85Encode } from "zeromq-lz4"

import { anyPort, use } from "../support/sockets.js"
import { type Transport, transports } from "../support/transports.js"

const serverKeys = curveKeyPair()
const [one, other] = [curveKeyPair(), curveKeyPair()]

/** Starts a server in a context of its own, and returns a function that connects a client and says whether it gets in. */
async function server(scheme: Transport["scheme"], keys: Parameters<typeof allowClients>[0]) {
  const context = new Context()
  const allowed = await allowClients(keys, { context })
  onTestFinished(() => allowed.close())
  const pull = use(new Pull({ context, curveServer: true, curveSecretKey: serverKeys.secretKey }))
  await pull.bind(anyPort({ scheme } as never))
  const accepts = async (client?: typeof one): Promise<boolean> => {
    const push = use(new Push({ linger: 0 }))
    if (client) {
      push.curvePublicKey = client.publicKey
      push.curveSecretKey = client.secretKey
      push.curveServerKey = serverKeys.publicKey
    }
    const refused = new Promise<boolean>((resolve) => {
      push.events.on("handshake:error:auth", () => resolve(false))
      push.events.on("disconnect", () => resolve(false))
    })
    push.connect(pull.lastEndpoint as string)
    void push.send("hello").catch(() => {})
    const isIn = await Promise.race([refused, pull.receive().then(() => true)])
    push.close()
    return isIn
  }
  return { allowed, accepts, context }
}

describe.each(transports)("over $name", ({ scheme }) => {
  test("keys as text and as bytes get in, others do not", async () => {
    const { allowed, accepts } = await server(scheme, [one.publicKey, z85Decode(other.publicKey)])
    expect(allowed.size).toBe(2)
    expect(await accepts(one)).toBe(true)
    expect(await accepts(other)).toBe(true)
  })

  test("a file is read again when it changes", async () => {
    const folder = mkdtempSync(join(tmpdir(), "zeromq-lz4-clients-"))
    onTestFinished(() => rmSync(folder, { recursive: true }))
    const file = join(folder, "clients")
    writeFileSync(file, `# clients\n${one.publicKey} one\n`)
    const { allowed, accepts } = await server(scheme, { file })
    expect(await accepts(one)).toBe(true)
    writeFileSync(file, `# clients\r\n${one.publicKey}\r\n${other.publicKey} the other one\r\n`)
    expect(await accepts(other)).toBe(true)
    expect(allowed.size).toBe(2)
    // A list that is half written leaves the latest one in force.
    const warned = new Promise<Error>((resolve) => process.once("warning", resolve))
    writeFileSync(file, "half a key")
    expect(await accepts(one)).toBe(true)
    expect(await warned).toMatchObject({
      code: "ERR_LZ4_CLIENT_KEYS",
      message: expect.stringContaining("; the list read before, of 2 keys, stays in force"),
    })
    rmSync(file)
    expect(await accepts(other)).toBe(true)
    // Nor does one that cannot even be looked at. Wine makes no link.
    symlinkSync(file, file)
    expect(await accepts(other)).toBe(true)
    rmSync(file, { force: true })
    writeFileSync(file, `#${one.publicKey}\n#----\n${other.publicKey}\n`)
    expect(await accepts(one)).toBe(false)
  })
})

test("who is not in the list is refused", async () => {
  const { accepts } = await server("lz4+tcp://", [one.publicKey])
  expect(await accepts(other)).toBe(false)
})

test("an error does not quote what may be a secret key", async () => {
  const { secretKey } = one
  expect(() => z85Encode(secretKey as never)).toThrow("bytes must be a Uint8Array; got a string")
  await expect(allowClients(secretKey as never)).rejects.toThrow("or { file }; got a string")
})

test("a context has one handler, and may have another after close()", async () => {
  const context = new Context()
  const first = await allowClients([one.publicKey], { context })
  await expect(allowClients([one.publicKey], { context })).rejects.toMatchObject({
    code: "EADDRINUSE",
    message: expect.stringMatching(/^Address already in use: the context has a ZAP handler, /),
  })
  first.close()
  const second = await allowClients([one.publicKey], { context })
  second.close()
})

test.each<[unknown, string]>([
  [["too short"], "key 0 is 9 bytes long"],
  [one.publicKey, "keys must be an iterable of keys"],
  [undefined, "keys must be an iterable of keys"],
  [{ file: 5 }, "file must be a string; got 5"],
  [{ file: "/there/is/none" }, "ENOENT"],
  [{ file: "/dev/zero" }, "1048576 bytes at most"],
])("allowClients(%j) is refused", async (keys, says) => {
  await expect(allowClients(keys as never)).rejects.toThrow(says)
})
