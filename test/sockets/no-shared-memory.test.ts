/** Without SharedArrayBuffer, as in Electron's pages, everything works but `thread: true`. */
import { expect, test } from "vitest"

import { preloaded, Script } from "../support/running-script.js"

test("only thread: true needs SharedArrayBuffer", async () => {
  const script = new Script(
    `const { Codec } = await import("zeromq-lz4/codec");
    const [push, pull, other] = [new zmq.Push(), new zmq.Pull(), new zmq.Pull()];
    await pull.bind("lz4+tcp://127.0.0.1:*", { thread: false });
    push.connect(pull.lastEndpoint, { thread: false });
    await push.send("hello ".repeat(100));
    console.log(String(await pull.receive()).length);
    console.log(Codec.createSync().encodePart(Buffer.alloc(1000)).length < 100);
    const tell = ({ code, message }) => console.log(code, message);
    await other.bind("lz4+tcp://127.0.0.1:*", { thread: true }).catch(tell);
    try { push.connect(pull.lastEndpoint, { thread: true }) } catch (error) { tell(error) }
    for (const socket of [push, pull, other]) socket.close();`,
    {},
    "unlimited",
    preloaded("delete globalThis.SharedArrayBuffer"),
  )
  expect(await script.line()).toBe("600")
  expect(await script.line()).toBe("true")
  for (let i = 0; i < 2; i++)
    expect(await script.line()).toMatch(/^ERR_LZ4_THREAD .*no SharedArrayBuffer/)
  expect((await script.ended()).code).toBe(0)
})
