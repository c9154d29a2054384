/** Bundles the simulator, and the code that runs in it. */
import { mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import * as esbuild from "esbuild"
import { withoutCurveWasm } from "./curve-wasm.mjs"
import * as paths from "./paths.mjs"

/**
 * A textual change of one source, in which `from` must occur exactly once.
 * @typedef {{ file: string, from: string | RegExp, to: string }} Patch
 */

/** Lets scenarios set smaller limits, which a few messages reach. @type {Patch[]} */
const LIMITS = [
  {
    file: "src/sockets/event-loop/turn-budget.ts",
    from: /const OPERATIONS_MAX = .+/g,
    to: "const OPERATIONS_MAX = (__simulation as any).limits.operations",
  },
  {
    file: "src/patterns/in-turns.ts",
    from: /const AT_ONCE_STEPS = .+/g,
    to: "const AT_ONCE_STEPS = (__simulation as any).limits.operations",
  },
  {
    file: "src/patterns/in-turns.ts",
    from: /const TURN_STEPS = .+/g,
    to: "const TURN_STEPS = (__simulation as any).limits.operations",
  },
  {
    file: "src/transport/socket-reader.ts",
    from: /const SLICE_BYTES = .+/g,
    to: "const SLICE_BYTES = (__simulation as any).limits.sliceBytes",
  },
  {
    file: "src/transport/socket-reader.ts",
    from: /const LANDING_MIN_BYTES = .+/g,
    to: "const LANDING_MIN_BYTES = (__simulation as any).limits.largeBytes ?? 16384",
  },
  {
    file: "src/transport/socket-reader.ts",
    from: /const LANDING_BODY_BYTES = .+/g,
    to: "const LANDING_BODY_BYTES = 2 * LANDING_MIN_BYTES",
  },
  {
    file: "src/codec/sender.ts",
    from: /const REFERRED_MIN_BYTES: number = .+/g,
    to: "const REFERRED_MIN_BYTES: number = (__simulation as any).limits.largeBytes ?? 65536",
  },
  {
    file: "src/zmtp/frame-relay.ts",
    from: /const EXTRACTED_MIN_BYTES = .+/g,
    to: "const EXTRACTED_MIN_BYTES = (__simulation as any).limits.largeBytes ?? 65536",
  },
  {
    file: "src/zmtp/session.ts",
    from: /const FRAMES_MAX = .+/g,
    to: "const FRAMES_MAX = (__simulation as any).limits.operations",
  },
  {
    file: "src/codec/transcoder.ts",
    from: /const ROOM_MAX_BYTES = .+/g,
    to: "const ROOM_MAX_BYTES: number = (__simulation as any).limits.roomBytes",
  },
  {
    file: "src/codec/transcoder.ts",
    from: /const ROOM_MIN_BYTES = .+/g,
    to: "const ROOM_MIN_BYTES = Math.min(ROOM_MAX_BYTES, 16384)",
  },
  {
    file: "src/curve/cipher.ts",
    from: /const BATCH_BYTES = .+/g,
    to: "const BATCH_BYTES: number = (__simulation as any).limits.cipherBytes ?? 196608",
  },
]

/** Lets sockets of one process behave as those of tcp://. @type {Patch[]} */
const PLAIN = [
  {
    file: "src/zmtp/mechanism.ts",
    from: "    properties.push(revisionProperty(revision))\n",
    to: "    if (!(__simulation as any).isPlain) properties.push(revisionProperty(revision))\n",
  },
  {
    file: "src/zmtp/mechanism.ts",
    from: "this.peerRevision = findRevision(read)",
    to: "this.peerRevision = (__simulation as any).isPlain ? undefined : findRevision(read)",
  },
]

/**
 * Exposes private state to the simulator, by objects with getters: checkers look at all pipes after
 * every few events, and most of them at a few members only.
 * @type {Patch[]}
 */
const VIEWS = [
  {
    file: "src/patterns/pipe.ts",
    from: "export class Pipe extends Outbound implements MessageSink {",
    to: `export class Pipe extends Outbound implements MessageSink {
  readonly simulated: any = ((self: Pipe) => ({
    get inbound() { return (self.#inbound as any).simulated },
    get outbound() { return (self as any).simulatedOutbound },
    get isTerminated() { return self.#events === undefined },
    get isWritable() { return self.#state === "active" },
    get connection() { return self.connection },
  }))(this)`,
  },
  {
    file: "src/patterns/inbound.ts",
    from: "export class Inbound {",
    to: `export class Inbound {
  readonly simulated: any = ((self: Inbound) => ({
    get waiting() { return self.#messages.length },
    waitingAfter: (count: number) => [...self.#messages].slice(count),
    get isStopped() { return self.#isStopped },
    get highWaterMark() { return self.#highWaterMark },
    get readAheadBytes() { return self.#readAheadBytes },
  }))(this)`,
  },
  {
    file: "src/patterns/outbound.ts",
    from: "export abstract class Outbound implements Flushable {",
    to: `export abstract class Outbound implements Flushable {
  readonly simulatedOutbound: any = ((self: Outbound) => ({
    get written() { return self.#credit.written },
    get taken() { return self.#credit.sent },
    get chunks() { return self.#pending?.length ?? 0 },
    get commands() { return [...(self.#pending ?? [])].filter((item) => !(item instanceof Chunk)).length },
    get hasChanges() { return self.#hasChanges },
    get batched() { return self.#batched },
    get highWaterMark() { return self.#credit.highWaterMark },
    get conflates() { return self.conflates },
  }))(this)`,
  },
  {
    file: "src/patterns/pipe.ts",
    from: "    this.#events = events\n",
    to: "    this.#events = events\n    ;(__simulation as any).pipes.push(this)\n",
  },
  {
    file: "src/patterns/inbound.ts",
    from: "    if (!this.checkRoom()) connection.stop()\n",
    to: `    if (!this.checkRoom()) {
      ;(__simulation as any).held++
      connection.stop()
    }\n`,
  },
  {
    file: "src/codec/slabs.ts",
    from: "    return { bytes: this.#allocate(bytes), used: 0, live: 0, liveBytes: 0, slabs: this }\n",
    to: `    const slab = { bytes: this.#allocate(bytes), used: 0, live: 0, liveBytes: 0, slabs: this }
    ;(__simulation as any).slabs.add(slab)
    return slab\n`,
  },
  {
    file: "src/transport/read-turns.ts",
    from: "  line.add({ readable, startMs,",
    to: "  ;(__simulation as any).turns.joined(readable, TURN_MAX_MS, CREDIT_MS)\n  line.add({ readable, startMs,",
  },
  {
    file: "src/transport/read-turns.ts",
    from: "  virtualMs = Math.max(virtualMs, startMs)\n  isReading = true\n",
    to: `  virtualMs = Math.max(virtualMs, startMs)
  isReading = true
  ;(__simulation as any).turns.begins(readable, startMs)\n`,
  },
  {
    file: "src/transport/read-turns.ts",
    from: "    readable.shareMs = startMs + charged(tookMs)\n",
    to: `    readable.shareMs = startMs + charged(tookMs)
    ;(__simulation as any).turns.ended(readable, startMs, tookMs, charged(tookMs))\n`,
  },
  {
    file: "src/transport/read-turns.ts",
    from: "          held.push(next)\n",
    to: "          ;(__simulation as any).turns.held(readable)\n          held.push(next)\n",
  },
  {
    file: "src/transport/read-turns.ts",
    from: "function beginTurn(): void {\n",
    to: "function beginTurn(): void {\n  ;(__simulation as any).turns.paused(TURN_MAX_MS)\n",
  },
  {
    file: "src/curve/curve.ts",
    from: "      return exports.zl_shared_key(pub as Pointer, secret as Pointer, target) || KEY_BYTES\n    })\n",
    to: `      return exports.zl_shared_key(pub as Pointer, secret as Pointer, target) || KEY_BYTES
    }, true)\n`,
  },
  {
    file: "src/curve/curve.ts",
    from: "    run: (given: Pointer[], target: Pointer) => number,\n  ): Uint8Array | undefined {\n",
    to: `    run: (given: Pointer[], target: Pointer) => number,
    isSecret = false,
  ): Uint8Array | undefined {\n`,
  },
  {
    file: "src/curve/curve.ts",
    from: "      result.set(instance.view(output, written))\n",
    to: `      result.set(instance.view(output, written))
      if (isSecret) (__simulation as any).secrets.add(result)\n`,
  },
  {
    file: "src/thread/open-batch.ts",
    from: "(_, slot) => slot)\n",
    to: "(_, slot) => slot)\n;(__simulation as any).slots = free\n",
  },
]

/**
 * Returns the source with a change. Throws an Error unless what it changes occurs once.
 * @param {string} source
 * @param {Patch} patch
 */
export function applyPatch(source, { file, from, to }) {
  const places =
    typeof from === "string" ? source.split(from).length - 1 : source.match(from)?.length
  if (places !== 1) throw new Error(`${file} does not have this once:\n${from}`)
  return source.replace(from, () => to)
}

/**
 * Applies patches to sources as they are read.
 * @param {Patch[]} patches
 * @returns {esbuild.Plugin}
 */
function patched(patches) {
  return {
    name: "patched",
    setup(build) {
      build.onLoad({ filter: /\/src\/.*\.ts$/ }, ({ path }) => {
        const file = path.slice(paths.root.length + 1)
        const wanted = patches.filter((patch) => patch.file === file)
        if (wanted.length === 0) return undefined
        return { contents: wanted.reduce(applyPatch, readFileSync(path, "utf8")), loader: "ts" }
      })
    },
  }
}

/** @type {esbuild.Plugin} */
const noWasm = {
  name: "no-wasm",
  setup(build) {
    // The module is compiled once for all runs.
    build.onLoad({ filter: /\.wasm$/ }, () => ({ contents: "export default new Uint8Array(8)" }))
  },
}

/** @type {esbuild.Plugin} */
const noThreadWorker = {
  name: "no-thread-worker",
  setup(build) {
    // The simulator starts threads itself.
    build.onResolve({ filter: /^thread-worker$/ }, ({ path }) => ({ path, namespace: "none" }))
    build.onLoad({ filter: /^/, namespace: "none" }, () => ({ contents: "", loader: "text" }))
  },
}

/** @type {esbuild.Plugin} */
const noAddon = {
  name: "no-addon",
  setup(build) {
    build.onLoad({ filter: /load-addon\.js$/ }, () => ({
      contents: `module.exports = require("__native")`,
    }))
  },
}

/** @type {esbuild.BuildOptions} */
const common = {
  absWorkingDir: paths.root,
  bundle: true,
  format: "cjs",
  platform: "node",
  target: "es2022",
  write: false,
  logLevel: "silent",
  define: { "import.meta.url": '"file:///simulation/index.js"' },
}

/** @param {esbuild.BuildOptions} options */
async function text(options) {
  const { outputFiles } = await esbuild.build({ ...common, ...options })
  return /** @type {esbuild.OutputFile[]} */ (outputFiles)[0]?.text ?? ""
}

/** Bundles the code under test, with injected faults if there are any. @param {Patch[]} [faults] */
export async function bundleEngine(faults = []) {
  // Faults first: LIMITS, PLAIN and VIEWS have to match the changed sources.
  const plugins = [
    patched([...faults, ...LIMITS, ...PLAIN, ...VIEWS]),
    noWasm,
    noThreadWorker,
    withoutCurveWasm,
  ]
  const [main, worker, zeromq] = await Promise.all([
    text({
      stdin: {
        contents: `export * from "./src/exports.js"\nexport * from "./src/draft.js"`,
        resolveDir: paths.root,
        loader: "ts",
      },
      plugins,
    }),
    text({ entryPoints: ["src/thread/worker.ts"], plugins }),
    text({
      stdin: {
        contents: `exports.zeromq = require("zeromq")\nexports.draft = require("zeromq/draft.js")`,
        resolveDir: paths.root,
        loader: "js",
      },
      external: ["__native"],
      plugins: [noAddon],
    }),
  ])
  const [wasm, curve] = ["zeromq-lz4.wasm", "curve.wasm"].map((name) =>
    readFileSync(join(paths.build, name)),
  )
  return {
    main,
    worker,
    zeromq,
    wasm: /** @type {Buffer<ArrayBuffer>} */ (wasm),
    curve: /** @type {Buffer<ArrayBuffer>} */ (curve),
  }
}

/** Bundles the simulator, which is TypeScript, and returns its file. */
export async function bundleSimulator() {
  const file = join(paths.build, "simulation", "simulator.mjs")
  const contents = await text({
    entryPoints: ["test/simulation/index.ts"],
    format: "esm",
    sourcemap: "inline",
    define: {},
    loader: { ".wasm": "binary" },
  })
  mkdirSync(join(paths.build, "simulation"), { recursive: true })
  writeFileSync(file, contents)
  return file
}
