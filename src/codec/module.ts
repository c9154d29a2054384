import { shown, wasmError, withCode, wrongType, wrongValue } from "./errors.js"
import type { FormatName } from "./format.js"
import { type Format, Instance } from "./instance.js"
import { lz4 } from "./lz4/format.js"

/**
 * A source of the module: its bytes, a compiled module, or a URL to fetch. `WebAssembly` is not
 * referenced here, because not every project has a library that declares it.
 */
export type WasmSource =
  | ArrayBuffer
  | ArrayBufferView
  | URL
  | (typeof globalThis extends { WebAssembly: { Module: { prototype: infer Module } } }
      ? Module
      : never)

/** Compiled modules that another thread has passed on. */
const given = new Map<FormatName, WebAssembly.Module>()

/** Lets this thread use a module that another one has compiled. The first one of a format stays. */
export function useModule(format: FormatName, module: WebAssembly.Module): void {
  if (!given.has(format)) given.set(format, module)
}

const embedded = (format: Format): WasmSource => given.get(format.name) ?? format.wasm

// One instance for each source, because each instance has its own memory.
const instances = new WeakMap<object, Instance>()
const fetched = new Map<string, Promise<Instance>>()
/** Instances of sources that are being compiled. */
const compiling = new WeakMap<object, Promise<Instance>>()

/**
 * Returns the instance of a source, created on first use. A failure is not cached. A source is always of
 * the same format.
 */
export async function loadInstance(
  format: Format = lz4,
  source: WasmSource = embedded(format),
): Promise<Instance> {
  checkAvailable()
  if (source instanceof URL) {
    let pending = fetched.get(source.href)
    if (!pending) {
      pending = fetchInstance(format, source)
      fetched.set(source.href, pending)
      pending.catch(() => fetched.delete(source.href))
    }
    return pending
  }
  const known = instances.get(source)
  if (known) return known
  if (source instanceof WebAssembly.Module) return loadInstanceSync(format, source)
  const bytes = checkBytes(source)
  let pending = compiling.get(source)
  if (!pending) {
    pending = compileInstance(format, source, bytes).finally(() => compiling.delete(source))
    compiling.set(source, pending)
  }
  return pending
}

function checkAvailable(): void {
  if (typeof WebAssembly === "undefined") throw wasmError("there is no WebAssembly (--jitless?)")
}

type Bytes = ArrayBuffer | ArrayBufferView

async function compileInstance(
  format: Format,
  source: Bytes,
  bytes: BufferSource,
): Promise<Instance> {
  const module = await WebAssembly.compile(bytes).catch(refused)
  return instances.get(source) ?? remember(format, source, module)
}

/** Returns the same instance synchronously. `source` cannot be a URL. */
export function loadInstanceSync(
  format: Format = lz4,
  source: WasmSource = embedded(format),
): Instance {
  checkAvailable()
  if (source instanceof URL) throw wrongValue("wasm: a URL needs Codec.create() or readCapture()")
  const known = instances.get(source)
  if (known) return known
  return remember(format, source, source instanceof WebAssembly.Module ? source : compile(source))
}

/** Returns the embedded module, compiled once. Threads share it. */
export function embeddedModule(format: Format): WebAssembly.Module {
  return loadInstanceSync(format).module
}

const receiving = new Map<Format, Instance>()

/**
 * Returns the instance that connections receive with. Its output is read in place, and a receiver
 * may send meanwhile, so another instance encodes: its results and memory growth cannot interfere.
 */
export function receivingInstance(format: Format): Instance {
  let instance = receiving.get(format)
  if (!instance) {
    instance = new Instance(embeddedModule(format), format)
    receiving.set(format, instance)
  }
  return instance
}

function compile(source: Bytes): WebAssembly.Module {
  const bytes = checkBytes(source)
  try {
    return new WebAssembly.Module(bytes)
  } catch (error) {
    return refused(error)
  }
}

/** Throws the engine's own error, which says why the bytes cannot, or may not, be compiled. */
function refused(error: unknown): never {
  throw withCode(error as Error, "ERR_LZ4_WASM")
}

function remember(format: Format, source: object, module: WebAssembly.Module): Instance {
  const instance = new Instance(module, format)
  instances.set(source, instance)
  return instance
}

function checkBytes(source: Bytes): BufferSource {
  if (source instanceof ArrayBuffer) return source
  if (!ArrayBuffer.isView(source))
    throw wrongType(`wasm must be bytes, a WebAssembly.Module or a URL; got ${shown(source)}`)
  // Engines differ in the views that they accept.
  return new Uint8Array(source.buffer as ArrayBuffer, source.byteOffset, source.byteLength)
}

async function fetchInstance(format: Format, url: URL): Promise<Instance> {
  try {
    const bytes = await readUrl(url)
    // A server that answers with its HTML page would otherwise fail with "expected magic word".
    if (bytes[0] !== 0 || bytes[1] !== 0x61 || bytes[2] !== 0x73 || bytes[3] !== 0x6d)
      throw wasmError("not a WebAssembly module")
    return new Instance(await WebAssembly.compile(bytes), format)
  } catch (error) {
    throw wasmError(`${url.href.slice(0, 200)}: ${reason(error)}`, error)
  }
}

/** Returns why a fetch failed. Node's error only says "fetch failed"; its cause has the reason. */
function reason(error: unknown): string {
  const { message: whole, cause } = error as Error
  const message = whole.replace(/^wasm: /, "")
  return cause instanceof Error ? `${message}: ${cause.message}` : message
}

async function readUrl(url: URL): Promise<Uint8Array<ArrayBuffer>> {
  if (url.protocol === "file:") {
    // Looked up at run time, because this file is also bundled for browsers.
    const fs = globalThis.process?.getBuiltinModule?.("node:fs/promises")
    if (!fs) throw wasmError("files can be read in Node only")
    return new Uint8Array(await fs.readFile(url))
  }
  const response = await fetch(url)
  if (!response.ok) throw wasmError(`answered with status ${response.status}`)
  return new Uint8Array(await response.arrayBuffer())
}
