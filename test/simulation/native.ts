/**
 * A substitute for the addon inside zeromq.js: sockets that keep their options, and have no
 * endpoints. The JavaScript of zeromq.js, with its classes and the names of options, runs on it
 * unchanged.
 */
import { EventEmitter } from "node:events"
import type { ZapHandler } from "./zap.js"

/** Options of a new socket that are not 0, by their numbers in zmq.h. */
const DEFAULTS: Readonly<Record<number, number>> = {
  11: -1,
  12: -1,
  17: -1,
  18: 100,
  19: 100,
  22: -1,
  23: 1000,
  24: 1000,
  27: -1,
  28: -1,
  34: -1,
  35: -1,
  36: -1,
  37: -1,
  66: 30_000,
  77: -1,
}

/** PUB, ROUTER, XPUB, XSUB, SERVER and RADIO, which drop messages that have no destination. */
const DROPS: ReadonlySet<number> = new Set([1, 6, 9, 10, 12, 14])

const ZAP_ADDRESS = "inproc://zeromq.zap.01"

type Value = number | boolean | string | Buffer | null

/** Returns the addon's exports for one process of a run. */
export function makeNative(): object {
  class Options {
    readonly options = new Map<number, Value>()

    #number(option: number): number {
      // The mechanism follows from the options of CURVE, or of PLAIN: the server flag, or a key or a name.
      if (option === 43)
        return this.options.has(49) ? 2 : this.options.get(44) || this.options.get(45) ? 1 : 0
      return Number(this.options.get(option) ?? DEFAULTS[option] ?? 0)
    }

    getBoolOption(option: number): boolean {
      return this.#number(option) !== 0
    }

    getInt32Option(option: number): number {
      return this.#number(option)
    }

    getUint32Option(option: number): number {
      return this.#number(option) >>> 0
    }

    getInt64Option(option: number): number {
      return this.#number(option)
    }

    getUint64Option(option: number): number {
      return this.#number(option)
    }

    getStringOption(option: number): Value {
      return this.options.get(option) ?? null
    }

    setBoolOption(option: number, value: boolean): void {
      this.options.set(option, value ? 1 : 0)
    }

    setInt32Option(option: number, value: number): void {
      this.options.set(option, value)
    }

    setUint32Option(option: number, value: number): void {
      this.options.set(option, value)
    }

    setInt64Option(option: number, value: number): void {
      this.options.set(option, value)
    }

    setUint64Option(option: number, value: number): void {
      this.options.set(option, value)
    }

    setStringOption(option: number, value: Value): void {
      this.options.set(option, value)
    }
  }

  class Context extends Options {
    zapHandler: ZapHandler | undefined

    constructor() {
      super()
      this.options.set(1, 1)
    }
  }

  class Observer extends EventEmitter {
    closed = false

    close(): void {
      this.closed = true
    }

    receive(): Promise<never> {
      return new Promise(() => {})
    }
  }

  const context = new Context()

  class Socket extends Options {
    closed = false
    readonly context: Context
    readonly #type: number
    #events: Observer | undefined
    /** Whether the socket is connected to the ZAP handler. */
    #asksZap = false
    readonly #replies: Buffer[][] = []

    constructor(type: number, options: Record<string, unknown> = {}) {
      super()
      this.#type = type
      const { context: given, ...others } = options
      this.context = (given as Context) ?? context
      // As zeromq.js does, before the fields of subclasses are initialised.
      Object.assign(this, others)
    }

    override getInt32Option(option: number): number {
      return option === 16 ? this.#type : super.getInt32Option(option)
    }

    get events(): Observer {
      this.#events ??= new Observer()
      return this.#events
    }

    get readable(): boolean {
      return this.#replies.length > 0
    }

    get writable(): boolean {
      if (this.#asksZap) return this.#type === 5 || this.context.zapHandler !== undefined
      return DROPS.has(this.#type) && !this.#isMandatory
    }

    /** Whether this is a ROUTER that reports unknown peers. */
    get #isMandatory(): boolean {
      return this.#type === 6 && this.getBoolOption(33)
    }

    bind(): Promise<void> {
      return Promise.reject(new Error("the simulation has no libzmq"))
    }

    unbind(): Promise<void> {
      return this.bind()
    }

    bindSync(): void {}
    unbindSync(): void {}
    connect(address: string): void {
      this.#asksZap ||= address === ZAP_ADDRESS
    }

    disconnect(): void {}
    join(): void {}
    leave(): void {}

    send(message: unknown): Promise<void> {
      if (this.#asksZap && !this.closed) {
        const request = (message as (string | Buffer)[]).map((part) => Buffer.from(part as string))
        this.context.zapHandler?.ask(request, (reply) => this.#replies.push(reply))
        return Promise.resolve()
      }
      return this.writable && !this.closed ? Promise.resolve() : this.#refused()
    }

    receive(): Promise<Buffer[]> {
      const reply = this.#replies.shift()
      return reply ? Promise.resolve(reply) : this.#refused()
    }

    /** Without endpoints there is nothing to wait for. */
    #refused(): Promise<never> {
      const code = this.closed ? "EBADF" : "EAGAIN"
      return Promise.reject(Object.assign(new Error(code), { code }))
    }

    close(): void {
      this.closed = true
      this.#events?.close()
    }
  }

  class NativeProxy {
    readonly frontEnd: Socket
    readonly backEnd: Socket

    constructor(frontEnd: Socket, backEnd: Socket) {
      this.frontEnd = frontEnd
      this.backEnd = backEnd
    }
  }

  const capability = { ipc: true, curve: true, gssapi: false, draft: true }
  return {
    capability,
    context,
    curveKeyPair: () => ({}),
    version: "4.3.5",
    Context,
    Socket,
    Observer,
    Proxy: NativeProxy,
  }
}
