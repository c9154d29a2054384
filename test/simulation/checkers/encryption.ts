/** Rules for CURVE: everything after a handshake is sealed, each message with a nonce of its own. */
import type { Curve } from "../../../src/curve/curve.js"
import { concat } from "../../support/wire.js"
import { COMMAND, commandName, type Frame, parseStream } from "../../support/zmtp.js"
import type { Checker } from "../checker.js"
import { isServer } from "../curve.js"
import type { Compiled } from "../engine.js"
import type { Link } from "../network.js"
import type { CurveSpec } from "../scenario.js"
import { endsOf, type Run } from "../state.js"

/** The commands of a handshake, by who sends them, and the beginning of the nonces that follow. */
const CLIENT = { commands: ["HELLO", "INITIATE"], messages: "CurveZMQMESSAGEC", last: 2n }
const SERVER = { commands: ["WELCOME", "READY"], messages: "CurveZMQMESSAGES", last: 1n }

/** Where a command's counter begins, and its box. */
const READY = { counter: 6, box: 14 }
const MESSAGE = { counter: 8, box: 16 }

export class Encryption implements Checker {
  readonly #run: Run
  readonly #spec: CurveSpec
  readonly #curve: Curve
  /** The bytes of each direction of a link. */
  readonly #streams = new Map<object, Uint8Array[]>()

  constructor(run: Run, spec: CurveSpec, { oracle }: Compiled) {
    this.#run = run
    this.#spec = spec
    this.#curve = oracle
  }

  took(_: Link, direction: object, bytes: Uint8Array): void {
    const pieces = this.#streams.get(direction)
    if (pieces) pieces.push(bytes)
    else this.#streams.set(direction, [bytes])
  }

  quiet(): void {
    for (const link of this.#run.network.links)
      for (const { tamperer, wasRead } of [link.out, link.in]) {
        const endsAt = tamperer?.endsAt ?? Number.POSITIVE_INFINITY
        if (wasRead < endsAt || link.isOver || link.firstCloser) continue
        this.#run.world.fail(
          "a connection that was tampered with ends",
          `link ${link.number} goes on after ${endsAt} bytes`,
        )
      }
  }

  end(): void {
    for (const link of this.#run.network.links) {
      const ends = endsOf(this.#run, link)
      if (ends && !this.#run.world.failure)
        this.#checkLink(link, isServer(this.#spec, ends.accepting))
    }
  }

  #checkLink(link: Link, serverAccepts: boolean): void {
    const [fromClient, fromServer] = serverAccepts ? [link.out, link.in] : [link.in, link.out]
    const client = this.#framesOf(fromClient)
    const server = this.#framesOf(fromServer)
    const ready = server.find((frame) => commandName(frame) === "READY")
    const key = ready && this.#keyOf(ready)
    if (ready && !key) this.#fail(link, "its READY has no key of this run")
    this.#check(link, client, CLIENT, key)
    this.#check(link, server, SERVER, key)
  }

  #framesOf(direction: object): Frame[] {
    return parseStream(concat(...(this.#streams.get(direction) ?? []))).frames
  }

  /** Returns the key of a connection, which its READY opens with. */
  #keyOf({ body }: Frame): Uint8Array | undefined {
    for (const { inside } of this.#run.processes)
      for (const { secrets } of inside)
        for (const { value } of secrets.all)
          if (this.#open(value, "CurveZMQREADY---", body, READY)) return value
    return undefined
  }

  #open(key: Uint8Array, prefix: string, body: Uint8Array, at: typeof MESSAGE) {
    const nonce = concat(Buffer.from(prefix), body.subarray(at.counter, at.counter + 8))
    return this.#curve.open(key, nonce, body.subarray(at.box))
  }

  #check(
    link: Link,
    frames: readonly Frame[],
    { commands, messages, last }: typeof CLIENT,
    key: Uint8Array | undefined,
  ): void {
    let counter = last
    for (const [i, frame] of frames.entries()) {
      const { flags, body } = frame
      const name = commandName(frame)
      const expected = commands[i] ?? "MESSAGE"
      // A server that refuses a client says so.
      if (name === "ERROR" && expected === "READY") return
      if (name !== expected || (flags & COMMAND) !== (i < commands.length ? COMMAND : 0))
        this.#fail(link, `it has "${name}" in place of ${expected}`)
      else if (expected === "MESSAGE") {
        const view = new DataView(body.buffer, body.byteOffset)
        if (view.getBigUint64(MESSAGE.counter) !== ++counter)
          this.#fail(link, `a MESSAGE has the wrong counter in place of ${counter}`)
        else if (!key || !this.#open(key, messages, body, MESSAGE))
          this.#fail(link, `MESSAGE ${counter} does not open`)
      }
      if (this.#run.world.failure) return
    }
  }

  #fail(link: Link, what: string): void {
    this.#run.world.fail("all is sealed", `link ${link.number}: ${what}`)
  }
}
