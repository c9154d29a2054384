/**
 * The code under test, evaluated anew for each thread of a run. Everything that it could do to the
 * outside world is replaced: modules, timers, clock, randomness, and the compiler of WebAssembly.
 */
import * as assert from "node:assert"
import { EventEmitter } from "node:events"
import * as net from "node:net"
import vm from "node:vm"
import { Curve } from "../../src/curve/curve.js"
import type * as draft from "../../src/draft.js"
import type * as exports from "../../src/exports.js"
import type { Pipe } from "../../src/patterns/pipe.js"
import { makeNative } from "./native.js"
import type { Network } from "./network.js"
import type { Random } from "./random.js"
import type { Limits } from "./scenario.js"
import { Secrets } from "./secrets.js"
import { atomicsFor, channelsOf, type Port, threadsModule } from "./threads.js"
import { Turns } from "./turns.js"
import type { EventLoop, World } from "./world.js"

/** The texts of the bundles that scripts/lib/simulation.mjs makes. */
export interface Code {
  main: string
  worker: string
  zeromq: string
  wasm: Uint8Array<ArrayBuffer>
  zstd: Uint8Array<ArrayBuffer>
  curve: Uint8Array<ArrayBuffer>
}

/** The exports of the package. */
export type Package = typeof exports & typeof draft

export type ShownPipe = Pick<Pipe, "internals" | "out" | "connection">

export interface ShownSlab {
  readonly bytes: Uint8Array
  readonly live: number
}

/** What the files in stand-ins/ are given, and what they show. */
export interface Inside {
  readonly limits: Limits
  /** Whether sockets announce nothing, and ignore what others announce, as those of tcp://. */
  readonly isPlain: boolean
  /** The thread that the bundle runs on. */
  loop: EventLoop
  pipes: ShownPipe[]
  /** Number of connections that began while the receive queue of their pipe was full. */
  held: number
  slabs: Set<ShownSlab>
  /** Number of open batches. */
  openBatches: number
  turns: Turns
  /** The number of objects in WebAssembly that were opened but not closed, by kind. */
  open: Map<string, number>
  /** The secrets that CURVE has made on this thread. */
  secrets: Secrets
}

/** Modules that do not wait and have no access to the outside world. */
const PURE: ReadonlySet<string> = new Set([
  "node:async_hooks",
  "node:diagnostics_channel",
  "node:os",
  "node:url",
  "node:util",
  "node:util/types",
])

type Require = (id: string) => unknown
type Globals = Record<string, unknown>
type Modules = Readonly<Record<string, unknown>>

/** Gives an evaluated bundle a new world, and resets its variables to their initial values. */
type Renew = (require: Require, globals: Globals) => void
type Evaluate = (require: Require, module: { exports: unknown }, globals: Globals) => Renew

const NAMES = [
  "process",
  "performance",
  "Math",
  "Atomics",
  "crypto",
  "WebAssembly",
  "FinalizationRegistry",
  "__simulation",
]

/**
 * Returns a function that evaluates a bundle. Each time, V8 learns anew what its code does, as the
 * classes of one copy are not those of another: code for all of them is slower by a tenth.
 */
function compile(text: string, filename: string): () => Evaluate {
  const names = `{ ${NAMES.join(", ")} }`
  const code = `(function (require, module, globals) {
    let ${names} = globals;
    const exports = module.exports;
${text}
    return (newRequire, newGlobals) => {
      require = newRequire;
      (${names} = newGlobals);
${initialisers(text)}
    };
  })`
  const script = new vm.Script(code, { filename })
  return () => script.runInThisContext()
}

/** Statements that are omitted: classes, functions, symbols, code added by esbuild, and exports. */
const CONSTANTS: readonly RegExp[] = [
  /^(async )?function\b/,
  /^var \w+ = (class\b|extend\(|\/\* @__PURE__ \*\/ Symbol\(|(\w+|\(.*?\)) =>)/,
  /^var (__\w+|stdin_exports) =/,
  /^(__export|module\.exports|Object\.defineProperty)\b/,
]

/**
 * Returns the statements of a bundle that initialise its variables. Classes and functions are kept:
 * creating them for each run would cost most of its time, because V8 optimises them across runs.
 */
function initialisers(text: string): string {
  const statements = text.match(/^[A-Za-z_].*(\n[ })\]].*)*/gm) ?? []
  return statements
    .filter((statement) => !CONSTANTS.some((constant) => constant.test(statement)))
    .map((statement) => {
      const assignment = /^var (.*);$/s.exec(statement)?.[1]
      if (assignment === undefined) return statement
      return /^\w+$/.test(assignment) ? `${assignment} = undefined;` : `(${assignment});`
    })
    .join("\n")
}

/** An instance of a module, and the size of its memory at first. */
interface UsedInstance {
  exports: WebAssembly.Exports
  memory: WebAssembly.Memory
  bytes: number
}

/** A module, its instances, and the initial content of their memory. */
interface Instances extends Pool<UsedInstance> {
  readonly module: WebAssembly.Module
  initial: Uint8Array | undefined
}

const instancesOf = (bytes: Uint8Array<ArrayBuffer>): Instances => ({
  module: new WebAssembly.Module(bytes),
  initial: undefined,
  spare: [],
  used: [],
})

/** A bundle that was evaluated for a run and can be reused by others. */
interface Evaluated<T> {
  exports: T
  renew: Renew
}

/** The package, and the zeromq.js that it extends. */
type Main = Evaluated<Package> & { zeromq: Modules }

/** Objects that are reused by one run after the other. */
interface Pool<T> {
  spare: T[]
  used: T[]
}

function take<T>({ spare, used }: Pool<T>): T | undefined {
  const item = spare.pop()
  if (item) used.push(item)
  return item
}

/** Bundles that are compiled once for all runs, and objects that runs reuse because new ones cost more. */
export class Compiled {
  readonly #main: () => Evaluate
  readonly #worker: () => Evaluate
  readonly #zeromq: () => Evaluate
  readonly #codecs: Instances
  readonly #zstd: Instances
  readonly #ciphers: Instances
  readonly #mains: Pool<Main> = { spare: [], used: [] }
  readonly #workers: Pool<Evaluated<unknown>> = { spare: [], used: [] }
  #oracle: Curve | undefined

  constructor(code: Code) {
    this.#main = compile(code.main, "engine-main.cjs")
    this.#worker = compile(code.worker, "engine-worker.cjs")
    this.#zeromq = compile(code.zeromq, "zeromq.cjs")
    this.#codecs = instancesOf(code.wasm)
    this.#zstd = instancesOf(code.zstd)
    this.#ciphers = instancesOf(code.curve)
  }

  get wasm(): WebAssembly.Module {
    return this.#codecs.module
  }

  get curve(): WebAssembly.Module {
    return this.#ciphers.module
  }

  /** Returns the module for the bytes that the bundles have in its place. */
  moduleOf(bytes: Uint8Array): WebAssembly.Module {
    const { length } = bytes
    return length === 0 ? this.curve : length === 2 ? this.#zstd.module : this.wasm
  }

  /** The boxes of libsodium, for checkers. */
  get oracle(): Curve {
    this.#oracle ??= new Curve(this.curve)
    return this.#oracle
  }

  /** Returns the package for a process, as if it had just been evaluated. */
  main(requireWith: (zeromq: Modules) => Require, globals: Globals): Package {
    const known = take(this.#mains)
    if (known) {
      known.renew(requireWith(known.zeromq), globals)
      return known.exports
    }
    const zeromq = this.#evaluateZeromq(globals)
    const module = { exports: {} as Package }
    const renew = this.#main()(requireWith(zeromq), module, globals)
    this.#mains.used.push({ exports: module.exports, renew, zeromq })
    return module.exports
  }

  #evaluateZeromq(globals: Globals): Modules {
    const module = { exports: {} as { zeromq: object; draft: object } }
    const native = makeNative()
    this.#zeromq()((id) => (id === "__native" ? native : { EventEmitter }), module, globals)
    return { zeromq: module.exports.zeromq, "zeromq/draft.js": module.exports.draft }
  }

  /** Runs the code of a thread, as if it had just been evaluated. */
  startWorker(require: Require, globals: Globals): void {
    const known = take(this.#workers)
    if (known) known.renew(require, globals)
    else {
      const module = { exports: {} }
      const renew = this.#worker()(require, module, globals)
      this.#workers.used.push({ exports: module.exports, renew })
    }
  }

  /** Returns an instance in its initial state. */
  instance(module: WebAssembly.Module, imports: WebAssembly.Imports): WebAssembly.Exports {
    const instances = exportsOne(module, "zl_zstd_version")
      ? this.#zstd
      : isCurve(module)
        ? this.#ciphers
        : this.#codecs
    const known = take(instances)
    if (known) return known.exports
    const { exports } = new WebAssembly.Instance(instances.module, imports)
    const memory = exports.memory as WebAssembly.Memory
    instances.used.push({ exports, memory, bytes: memory.buffer.byteLength })
    instances.initial ??= contentOf(memory)
    return exports
  }

  /** Makes the objects of the last run available to the next one, but not its code if the run was aborted. */
  reclaim(isOver: boolean): void {
    for (const instances of [this.#codecs, this.#zstd, this.#ciphers]) {
      for (const instance of instances.used) {
        if (instance.memory.buffer.byteLength !== instance.bytes) continue
        restore(instance.memory, instances.initial as Uint8Array)
        instances.spare.push(instance)
      }
      instances.used = []
    }
    if (isOver) {
      this.#mains.spare.push(...this.#mains.used)
      this.#workers.spare.push(...this.#workers.used)
    }
    this.#mains.used = []
    this.#workers.used = []
  }
}

/** Returns a copy of memory up to the last byte that is not 0. */
function contentOf({ buffer }: WebAssembly.Memory): Uint8Array {
  const bytes = new Uint8Array(buffer)
  let end = bytes.length
  while (end > 0 && bytes[end - 1] === 0) end--
  return bytes.slice(0, end)
}

const ZEROS = new Uint8Array(1 << 16)

/**
 * Restores the initial content of memory. Most of it was never written, and reading that costs less
 * than writing.
 */
function restore({ buffer }: WebAssembly.Memory, initial: Uint8Array): void {
  const bytes = new Uint8Array(buffer)
  bytes.set(initial)
  for (let at = initial.length; at < bytes.length; at += ZEROS.length) {
    const piece = bytes.subarray(at, at + ZEROS.length)
    if (Buffer.compare(piece, ZEROS.subarray(0, piece.length)) !== 0) piece.fill(0)
  }
}

/**
 * A FinalizationRegistry that collects nothing, because the time of a collection does not follow
 * from a seed.
 */
class NoRegistry {
  register(): void {}
  unregister(): void {}
}

/** Exports that open and close an object in WebAssembly's memory. */
const OPENS: Readonly<Record<string, string>> = {
  zl_receiving_open: "transcoder",
  zl_sending_open: "transcoder",
  zl_trainer_open: "trainer",
  zl_cipher_open: "cipher",
}
const CLOSES: Readonly<Record<string, string>> = {
  zl_cipher_close: "cipher",
  zl_transcoder_close: "transcoder",
  zl_trainer_close: "trainer",
}

/** Minimum size of memory that is refused. Endpoints with CURVE need less to begin with. */
const REFUSED_MIN_BYTES = 100
/** Until when memory is refused, in simulated milliseconds. */
const REFUSING_MS = 90

/** A process of a run: its main thread, and the threads that it starts. */
export class Process {
  readonly loop: EventLoop
  readonly package: Package
  readonly inside: Inside[] = []
  /** The random id that was drawn last. */
  #lastId = 0
  /** Ends its threads as an uncaught error in each would. */
  readonly killThreads: () => void
  readonly #world: World
  readonly #network: Network
  readonly #random: Random
  readonly #compiled: Compiled
  readonly #atomicShare: number
  readonly #memoryShare: number
  readonly #limits: Limits
  readonly #isPlain: boolean
  /** Milliseconds that each call of performance.now() takes, to simulate computation. */
  readonly #clockMs: number

  constructor(
    world: World,
    network: Network,
    random: Random,
    compiled: Compiled,
    traits: {
      name: string
      limits: Limits
      atomicShare: number
      clockMs: number
      memoryShare: number
      /** Whether its sockets announce nothing, and ignore what others announce, as those of tcp://. */
      isPlain: boolean
    },
  ) {
    this.#world = world
    this.#network = network
    this.#random = random
    this.#compiled = compiled
    this.#limits = traits.limits
    this.#atomicShare = traits.atomicShare
    this.#clockMs = traits.clockMs
    this.#memoryShare = traits.memoryShare
    this.#isPlain = traits.isPlain
    this.loop = world.addLoop(traits.name, random.fork(1))
    const { globals, secrets } = this.#surroundings(this.loop, random.fork(2))
    const threads = threadsModule(
      world,
      this.loop,
      random.fork(3),
      (loop, port, data) => this.#startThread(loop, port, data),
      (loop) => network.ended(loop),
    )
    this.package = compiled.main((zeromq) => {
      const known = {
        ...zeromq,
        "node:net": network.moduleFor(this.loop),
        "node:worker_threads": threads.module,
        "node:crypto": this.#cryptoModule(secrets),
      }
      return (id) => this.#require(id, known, this.loop)
    }, globals)
    this.killThreads = threads.killAll
  }

  #startThread(loop: EventLoop, parentPort: Port, workerData: unknown): void {
    const random = this.#random.fork(10 + this.#world.loops.length)
    const MessageChannel = channelsOf(loop, random.fork(3))
    const { globals, secrets } = this.#surroundings(loop, random)
    const known = {
      "node:net": this.#network.moduleFor(loop),
      "node:worker_threads": { parentPort, workerData, MessageChannel },
      "node:crypto": this.#cryptoModule(secrets),
    }
    this.#compiled.startWorker((id) => this.#require(id, known, loop), globals)
  }

  #cryptoModule(secrets: Secrets): object {
    return {
      // Ids count up, so that peers can choose those that are assigned next.
      webcrypto: { getRandomValues: (ids: Uint32Array) => ids.fill(++this.#lastId) },
      randomFillSync: (bytes: Uint8Array) => secrets.fill(bytes),
    }
  }

  #require(id: string, known: Modules, loop: EventLoop): unknown {
    if (id === "node:module")
      return { createRequire: () => (name: string) => this.#require(name, known, loop) }
    if (id === "node:net") return { ...(this.#module(id) as object), ...(known[id] as object) }
    if (id === "node:perf_hooks") return { performance: this.#performance(loop) }
    return known[id] ?? this.#module(id)
  }

  #module(id: string): unknown {
    switch (id) {
      case "node:events":
      case "events":
        return { EventEmitter, default: EventEmitter }
      case "node:net":
        return net
      case "node:fs":
        return { existsSync: () => true, openSync: () => 3, closeSync: () => {} }
      default:
        if (PURE.has(id)) return process.getBuiltinModule(id)
        assert.fail(`the simulation has no module ${id}`)
    }
  }

  /** The module from which src/base/runtime.ts takes timers; undefined for others. */
  #builtin(id: string, loop: EventLoop): unknown {
    if (id !== "node:timers") return undefined
    return {
      setTimeout: loop.setTimeout,
      clearTimeout: loop.clearTimeout,
      setInterval: loop.setInterval,
      clearInterval: loop.clearTimeout,
      setImmediate: loop.setImmediate,
      clearImmediate: loop.clearImmediate,
    }
  }

  #performance(loop: EventLoop): object {
    const world = this.#world
    const { turns } = this.inside.find((one) => one.loop === loop) as Inside
    return {
      now: () => {
        turns.looked()
        world.now += this.#clockMs
        return world.now
      },
      nodeTiming: {
        get idleTime() {
          return world.now - loop.busyMs
        },
        get uvMetricsInfo() {
          return { loopCount: loop.polls }
        },
      },
      eventLoopUtilization: (
        now?: { active: number; at: number },
        before?: { active: number; at: number },
      ) => {
        if (!now || !before) return { active: loop.busyMs, at: world.now, utilization: 0 }
        return { utilization: (now.active - before.active) / Math.max(0.001, now.at - before.at) }
      },
    }
  }

  /** Makes the global variables of a thread. */
  #surroundings(loop: EventLoop, random: Random): { globals: Globals; secrets: Secrets } {
    const secrets = new Secrets(random.fork(6))
    const inside: Inside = {
      limits: this.#limits,
      isPlain: this.#isPlain,
      loop,
      pipes: [],
      held: 0,
      slabs: new Set(),
      openBatches: 0,
      turns: new Turns(this.#world, this.#limits.operations),
      open: new Map(),
      secrets,
    }
    this.inside.push(inside)
    const compiled = this.#compiled
    const math = Object.create(null, Object.getOwnPropertyDescriptors(Math)) as Math
    Object.defineProperty(math, "random", { value: () => random.fraction() })
    const refusals = random.fork(5)
    const refuses = () =>
      this.#memoryShare > 0 && this.#world.now < REFUSING_MS && refusals.chance(this.#memoryShare)
    const count = (kind: string, by: number) =>
      inside.open.set(kind, (inside.open.get(kind) ?? 0) + by)
    const globals = {
      process: {
        nextTick: loop.nextTick,
        env: {},
        execArgv: [],
        pid: 1,
        emitWarning: () => {},
        on: () => {},
        off: () => {},
        listeners: () => [],
        stderr: { write: () => true, on: () => {}, off: () => {} },
        getBuiltinModule: (id: string) => this.#builtin(id, loop),
      },
      performance: this.#performance(loop),
      Math: math,
      Atomics: atomicsFor(loop, random.fork(1), this.#atomicShare),
      WebAssembly: {
        Module: new Proxy(WebAssembly.Module, {
          construct: (_, [bytes]) => compiled.moduleOf(bytes),
        }),
        Instance: new Proxy(WebAssembly.Instance, {
          construct: (_, [module, imports]) => {
            const ciphers = isCurve(module)
            const exports = compiled.instance(module, imports)
            const result = counted(exports, count, refuses)
            if (ciphers) {
              secrets.memory = exports.memory as WebAssembly.Memory
              const sharedKey = exports.zl_shared_key as Call
              result.zl_shared_key = (...args: number[]) => {
                inside.turns.exchanged()
                return sharedKey(...args)
              }
            }
            return { exports: result }
          },
        }),
        compile: (bytes: Uint8Array) => Promise.resolve(compiled.moduleOf(bytes)),
        Memory: WebAssembly.Memory,
      },
      FinalizationRegistry: NoRegistry,
      __simulation: inside,
    }
    return { globals, secrets }
  }
}

/** Tells modules apart. Threads have copies of them. */
const exportsOne = (module: WebAssembly.Module, wanted: string): boolean =>
  WebAssembly.Module.exports(module).some(({ name }) => name === wanted)
const isCurve = (module: WebAssembly.Module): boolean => exportsOne(module, "zl_seal")

type Call = (...args: number[]) => number

/** Counts opened and closed objects, and refuses memory to encoders and to CURVE. */
function counted(
  given: WebAssembly.Exports,
  count: (kind: string, by: number) => void,
  refuses: () => boolean,
): Record<string, unknown> {
  const result: Record<string, unknown> = { ...given }
  let encodes = given.zl_seal !== undefined
  const scratch = given.zl_scratch as Call
  result.zl_scratch = (region: number, bytes: number) =>
    encodes && bytes >= REFUSED_MIN_BYTES && refuses() ? 0 : scratch(region, bytes)
  for (const [name, kind] of Object.entries(OPENS)) {
    const call = given[name] as Call | undefined
    if (!call) continue
    result[name] = (...args: number[]) => {
      const handle = name === "zl_cipher_open" && refuses() ? 0 : call(...args)
      if (handle !== 0) count(kind, 1)
      if (name === "zl_sending_open") encodes = true
      return handle
    }
  }
  for (const [name, kind] of Object.entries(CLOSES)) {
    const call = given[name] as Call | undefined
    if (!call) continue
    result[name] = (handle: number) => {
      if (handle !== 0) count(kind, -1)
      return call(handle)
    }
  }
  return result
}
