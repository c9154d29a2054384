/**
 * What is sent right after the event loop was blocked is not lost if a peer went away meanwhile: the end of its
 * connection has arrived, but nobody has read it. libzmq's threads have.
 */
import { setTimeout } from "node:timers/promises"
import { describe, expect, test } from "vitest"
import { curveKeyPair } from "zeromq"

import { anyPortOf, lost, lz4Ways, Peer, Sender, type Way, ways } from "../support/old-news.js"
import { noise } from "../support/running-script.js"
import { times } from "../support/transports.js"

const server = curveKeyPair()
const client = curveKeyPair()
const curve = {
  sender: {
    curvePublicKey: client.publicKey,
    curveSecretKey: client.secretKey,
    curveServerKey: server.publicKey,
  },
  peer: { curveServer: true, curveSecretKey: server.secretKey },
}

/** Milliseconds for which a process is stopped. Less than 100 could be a wait for something to do. */
const STOPPED_MS = 300
const RECEIVERS: Record<string, string> = { Push: "Pull", Dealer: "Dealer" }
const receiverOf = (type: string): string => RECEIVERS[type] as string

/**
 * Starts a sender that connects to a peer, and another peer that binds the same endpoint when it is told to
 * go on, and prints its endpoint then.
 */
async function connected(
  way: Way,
  options: ConstructorParameters<typeof Sender>[1],
  source?: string,
  peerOptions: { type?: string; settings?: object } = {},
  peerSource?: string,
) {
  const peer = { type: RECEIVERS[options.type] ?? "", ...peerOptions }
  const first = new Peer(way, { ...peer, bind: anyPortOf(way) }, peerSource)
  const bind = await first.line()
  const next = new Peer(way, { ...peer, bind, waits: true }, peerSource)
  const sender = new Sender(way, { ...options, connect: bind }, source)
  return { first, next, sender }
}

/** Starts a sender that is bound, and a number of peers that connect to it. */
async function bound(
  way: Way,
  options: ConstructorParameters<typeof Sender>[1],
  count: number,
  source?: string,
) {
  const sender = new Sender(way, { ...options, bind: anyPortOf(way) }, source)
  const connect = await sender.line()
  const peer = { type: receiverOf(options.type), connect }
  const peers = Array.from({ length: count }, () => new Peer(way, peer))
  const next = new Peer(way, { ...peer, waits: true })
  await Promise.all(peers.map((one) => one.says("hello")))
  return { sender, peers, next, first: peers[0] as Peer }
}

const inTurn = { waits: true }
const atOnce = { waits: false }

/** Returns the cases that run: the first ones, unless everything does. */
const some = <T>(count: number, cases: readonly T[]): readonly T[] =>
  cases.slice(0, times(cases.length, count))

describe.each(ways)("over $name", (way) => {
  describe("a socket that connects sends to the peer that takes the place of another", () => {
    test.each(
      some(4, [
        ["PUSH, 20 ms", { type: "Push", by: "sleeps", ms: 20, count: 200, ...inTurn }, {}],
        ["DEALER, 100 ms", { type: "Dealer", by: "computes", ms: 100, count: 200, ...atOnce }, {}],
        [
          "PUSH with CURVE, 50 ms",
          {
            type: "Push",
            by: "hashes",
            ms: 50,
            count: 50,
            ...atOnce,
            settings: curve.sender,
          },
          curve.peer,
        ],
        [
          "PUSH with immediate, 30 ms",
          {
            type: "Push",
            by: "parses",
            ms: 30,
            count: 50,
            ...inTurn,
            settings: { immediate: true },
          },
          {},
        ],
        ["PUSH, 200 ms", { type: "Push", by: "parses", ms: 200, count: 50, ...atOnce }, {}],
        ["DEALER, 700 ms", { type: "Dealer", by: "sleeps", ms: 700, count: 50, ...inTurn }, {}],
      ] as const),
    )("%s", async (_, options, settings) => {
      const { first, next, sender } = await connected(way, options, undefined, { settings })
      await first.says("hello")
      await sender.block()
      await first.kill()
      next.goOn()
      await next.line()
      sender.release()
      await sender.says("sent")
      expect(await lost([next], options.count)).toBe(0)
    })

    // The block is as short as the end of a process.
    test.each(
      some(1, [
        ["PUSH", { type: "Push", by: "sleeps", ...inTurn }],
        ["DEALER", { type: "Dealer", by: "hashes", ...atOnce }],
      ] as const),
    )("after the block: %s, 10 ms", async (_, options) => {
      const { first, next, sender } = await connected(way, { ...options, ms: 10 })
      await first.says("hello")
      await sender.block()
      await first.kill()
      sender.release()
      await sender.says("sent")
      next.goOn()
      await next.line()
      expect(await lost([next], 200)).toBe(0)
    })

    test("a REQ that connects gets its answer from the peer in the other's place", async () => {
      const ask = `
        const ask = async (of, text) => { await of.send(text); return String(await of.receive()) };
        const [socket, other] = [make(), make()];
        await open(socket);
        await ask(socket, "hello");
        await told();
        block();
        let answer;
        void ask(socket, "hello").then((text) => { answer = text });
        await open(other);
        // When the peer has answered so many questions of another socket, it will not answer this one.
        for (let i = 0; i < 100 && !answer; i++) { await ask(other, "hello"); await sleep(20) }
        tell(answer ?? "no answer");`
      const reply = `
        const socket = make();
        if (argument.waits) await told();
        await open(socket);
        for await (const [message] of socket) {
          console.log(String(message));
          await socket.send("answered");
        }`
      const options = { type: "Request", ms: 200 }
      const { first, next, sender } = await connected(way, options, ask, { type: "Reply" }, reply)
      await first.says("hello")
      await sender.block()
      await first.kill()
      next.goOn()
      await next.line()
      sender.release()
      expect(await sender.line()).toBe("answered")
    })

    test.each(
      some(2, [
        ["without waiting before close()", "void burst(socket); socket.close();", atOnce],
        ["before process.exit()", "await burst(socket); process.exit();", inTurn],
        [
          "before disconnect()",
          "await burst(socket); socket.disconnect(argument.connect);",
          inTurn,
        ],
      ] as const),
    )("what is sent %s", async (_, then, waits) => {
      const source = `
        const socket = make();
        await open(socket);
        await greet(socket);
        block();
        ${then}
        process.stdin.destroy(); // lets the process end`
      const options = { type: "Push", by: "hashes", count: 50, ...waits } as const
      const { first, next, sender } = await connected(way, options, source)
      await first.says("hello")
      await sender.block()
      await first.kill()
      next.goOn()
      const connect = await next.line()
      sender.release()
      await sender.says("sent")
      // It has delivered everything by then.
      await sender.ended()
      const last = "const socket = make(); await open(socket); await end(socket);"
      new Sender(way, { type: "Push", connect }, last)
      expect(await lost([next], options.count)).toBe(0)
    })
  })

  test.each(
    some(1, [
      ["PUSH", { type: "Push", ...inTurn }],
      ["DEALER", { type: "Dealer", ...atOnce }],
    ]),
  )("a bound %s of whose three peers one has ended sends to the others", async (_, options) => {
    const { sender, peers, first } = await bound(way, { ...options, count: 300 }, 3)
    await sender.block()
    await first.kill()
    sender.release()
    await sender.says("sent")
    expect(await lost(peers.slice(1), 300)).toBe(0)
  })

  test.each(some(1, ["Dealer", "Push"]))(
    "a bound %s sends to the peer that has taken the place of the only one",
    async (type) => {
      const { sender, first, next } = await bound(way, { type }, 1)
      await sender.block()
      await first.kill()
      next.goOn()
      await next.says("connected")
      sender.release()
      await sender.says("sent")
      expect(await lost([next], 200)).toBe(0)
    },
  )

  test("a service that sends a result after each job loses none of them", async () => {
    const source = `
      const socket = make();
      await open(socket);
      await greet(socket);
      for (let job = 0; job < argument.count; job++) {
        // A peer ends during the first job.
        if (job === 0) block();
        else for (const end = performance.now() + (job % 2 ? 10 : 40); performance.now() < end; );
        await socket.send(String(job));
      }
      tell("sent");
      await end(socket);`
    const { sender, peers, first } = await bound(way, { type: "Push", count: 12 }, 3, source)
    await sender.block()
    await first.kill()
    sender.release()
    await sender.says("sent")
    expect(await lost(peers.slice(1), 12)).toBe(0)
  })

  test.each(
    some(2, [
      ["whose only peer", ["peer"], ""],
      ["that receives, and whose only peer", ["peer"], "socket.receive().catch(() => undefined);"],
      ["one of whose peers", ["other", "peer"], ""],
    ]),
  )(
    "a ROUTER with mandatory %s has ended rejects a message to it",
    async (_, routingIds, receives) => {
      const source = `
      const socket = make();
      await open(socket);
      for (const routingId of argument.routingIds) await greet(socket, [routingId]);
      ${receives}
      block();
      tell(await socket.send(["peer", "0"]).then(() => "sent", (error) => error.code));`
      const options = { type: "Router", settings: { mandatory: true }, routingIds }
      const sender = new Sender(way, { ...options, bind: anyPortOf(way) }, source)
      const connect = await sender.line()
      const peers = routingIds.map(
        (routingId) => new Peer(way, { type: "Dealer", connect, settings: { routingId } }),
      )
      const peer = peers.at(-1) as Peer
      for (const one of peers) {
        await one.says("hello")
        if (one !== peer) sender.goOn()
      }
      await sender.block()
      await peer.kill()
      sender.release()
      expect(await sender.line()).toBe("EHOSTUNREACH")
    },
  )

  test("a PUB sends to the subscribers that are there", async () => {
    const options = { type: "Publisher", count: 200, ...atOnce }
    const sender = new Sender(way, { ...options, bind: anyPortOf(way) })
    const connect = await sender.line()
    const source = `
      const socket = make();
      socket.subscribe();
      await open(socket);
      for await (const [message] of socket) console.log(String(message));`
    const peers = [0, 1].map(() => new Peer(way, { type: "Subscriber", connect }, source))
    await Promise.all(peers.map((one) => one.says("hello")))
    await sender.block()
    await peers[0]?.kill()
    sender.release()
    await sender.says("sent")
    expect(await lost(peers.slice(1), options.count)).toBe(0)
  })

  test.each(
    some(2, [
      ["Reply", "Request", ""],
      ["Router", "Dealer", "socket.close()"],
      ["Reply", "Request", "socket.close()"],
      ["Router", "Dealer", ""],
    ]),
  )("a %s answers after a long handler, and the %s gets it %s", async (type, peerType, after) => {
    const source = `
      const socket = make();
      await open(socket);
      const parts = await socket.receive();
      block();
      void socket.send([...parts.slice(0, -1), "answer"]);
      ${after}`
    const sender = new Sender(way, { type, bind: anyPortOf(way), ms: 100 }, source)
    const connect = await sender.line()
    const ask = `
      const socket = make();
      await open(socket);
      await socket.send("question");
      console.log(String(await socket.receive()));`
    const peer = new Peer(way, { type: peerType, connect }, ask)
    expect(await sender.line()).toBe("blocked")
    sender.release()
    expect(await peer.line()).toBe("answer")
  })

  test.each([
    ["PUSH", "Push", "Pull", {}],
    ["PUB", "Publisher", "Subscriber", { noDrop: true }],
    ["ROUTER", "Router", "Dealer", { mandatory: true }],
  ])(
    "a %s whose queue was full has room for a peer that has read everything",
    async (_, type, peerType, fails) => {
      const source = `${noise}
        const socket = make();
        const to = argument.type === "Router" ? ["peer"] : [];
        await open(socket);
        await greet(socket, to);
        const body = noise(64 * 1024);
        let accepted = 0;
        const send = () => socket.send([...to, String(accepted), body]).then(() => accepted++);
        // It is full if it stays so.
        for (let failures = 0; failures < 20; )
          await send().then(() => { failures = 0 }, () => { failures++; return sleep(10) });
        for (const option of argument.fails) socket[option] = false;
        tell(String(accepted));
        tell(String(accepted - (socket.lz4?.stats.waiting.messages ?? 0)));
        block();
        try { for (let i = 0; i < 3; i++) await send() } catch (error) { tell(error.code) }
        tell("sent");
        await end(socket, to);`
      const argument = {
        type,
        bind: anyPortOf(way),
        settings: { sendHighWaterMark: 10, sendTimeout: 0, ...fails },
        fails: Object.keys(fails),
      }
      const sender = new Sender(way, argument, source)
      const connect = await sender.line()
      const receive = `
        const socket = make();
        if (argument.type === "Subscriber") socket.subscribe();
        await open(socket);
        console.log(String((await socket.receive())[0]));
        await told();
        for await (const [message] of socket) console.log(String(message));`
      const settings = {
        receiveHighWaterMark: 10,
        ...(peerType === "Dealer" ? { routingId: "peer" } : {}),
      }
      const peer = new Peer(way, { type: peerType, connect, settings }, receive)
      await peer.says("hello")
      sender.goOn()
      const accepted = Number(await sender.line())
      const written = Number(await sender.line())
      await sender.says("blocked")
      peer.goOn()
      await peer.says(`${written - 1}`)
      sender.release()
      expect(await sender.line()).toBe("sent")
      expect(await lost([peer], accepted + 3)).toBe(0)
    },
  )
})

describe.each(lz4Ways)("over $name", (way) => {
  // Over tcp://, messages may be lost: libzmq's thread goes on at the same time as the sender's.
  test.each(["connects", "is bound"])(
    "a process that was stopped sends to the next peer: a PUSH that %s",
    async (role) => {
      // The timer is due when the process goes on, and runs before sockets are read.
      const source = `
      const socket = make();
      await open(socket);
      await greet(socket);
      const timer = setInterval(async () => {
        if (!existsSync(argument.release)) return;
        clearInterval(timer);
        await burst(socket);
        await end(socket);
      }, 5);
      tell("ready");`
      const isBound = role === "is bound"
      const options = { type: "Push", count: 100 }
      const { sender, first, next } = isBound
        ? await bound(way, options, 1, source)
        : await connected(way, options, source)
      if (!isBound) await first.says("hello")
      sender.goOn()
      await sender.says("ready")
      sender.process.kill("SIGSTOP")
      await first.kill()
      next.goOn()
      await (isBound ? next.says("connected") : next.line())
      sender.release()
      await setTimeout(STOPPED_MS)
      sender.process.kill("SIGCONT")
      await sender.says("sent")
      expect(await lost([next], 100)).toBe(0)
    },
  )

  test("flush() resolves when the next peer gets the messages, and statistics count them once", async () => {
    const source = `
      const socket = make();
      // Once: the peer that ends may accept another connection meanwhile, and end that, too.
      socket.lz4.once("disconnect", () => tell("disconnected"));
      await open(socket);
      await greet(socket);
      await socket.lz4.flush();
      const before = socket.lz4.stats.sent.messages;
      block();
      await burst(socket);
      await socket.lz4.flush();
      const { stats, connections } = socket.lz4;
      tell(JSON.stringify({
        sent: stats.sent.messages - before,
        onConnections: connections.map(({ sent }) => sent.messages),
        waiting: stats.waiting.messages,
      }));
      await end(socket);`
    const options = { type: "Push", by: "hashes", count: 50, ...inTurn } as const
    const { first, next, sender } = await connected(way, options, source)
    await first.says("hello")
    await sender.block()
    await first.kill()
    sender.release()
    const lines = [await sender.line(), await sender.line()].sort()
    expect(lines).toEqual(["disconnected", "sent"])
    next.goOn()
    await next.line()
    expect(JSON.parse(await sender.line())).toEqual({ sent: 50, onConnections: [50], waiting: 0 })
    expect(await lost([next], 50)).toBe(0)
  })
})
