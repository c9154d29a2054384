/** Builds the WebAssembly modules. */
import { mkdirSync, statSync } from "node:fs"
import { basename, join } from "node:path"
import { filesIn, onPath } from "./files.mjs"
import * as paths from "./paths.mjs"
import { commandLine, fail, start } from "./run.mjs"
import {
  curveSharedSources,
  curveSources,
  libsodiumFlags,
  libsodiumIncludes,
  libsodiumSources,
} from "./sources.mjs"
import { buildStep } from "./stale.mjs"

const optimize = [
  "-O3",
  // memory.copy instead of a loop; all engines have had it since 2021.
  "-mbulk-memory",
]

const checked = ["-Wall", "-Wextra", "-Werror", `-I${paths.liblz4}`]
const compile = [...optimize, ...checked]

// A dictionary is trained once, which -Os makes no slower, and the code is a tenth smaller.
const compileTraining = ["-Os", "-mbulk-memory", ...checked]
const TRAINING = ["cover.c", "dictionary.c", "trainer.c"]

const compileLiblz4 = [
  ...optimize,
  // Pointers have 4 bytes here, so liblz4 would access memory 4 bytes at a time. WebAssembly has
  // 8-byte loads, which liblz4 uses for x86-64. The macro has no other effect.
  "-D__x86_64__",
  // liblz4 turns this on only for processors that it knows.
  "-DLZ4_FAST_DEC_LOOP=1",
]

// -Os halves the size of LZ4HC and makes it a tenth slower.
const compileLz4hc = ["-Os", "-DLZ4_FORCE_INLINE=static", "-D__x86_64__"]

// libsodium writes its SIMD with the intrinsics of SSE2, which Emscripten translates.
const simd = ["-msimd128", "-msse2"]

// Lets libsodium's functions be inlined into ours: a short message is sealed in a tenth less time.
const inlined = ["-flto"]

const linkAny = [
  ...optimize,
  // A library without main(), which exports all functions that are marked ZL_EXPORT.
  "--no-entry",
  // No JavaScript from Emscripten: src/codec/instance.ts loads the module.
  "-sSTANDALONE_WASM=1",
  "-sALLOW_MEMORY_GROWTH=1",
  // A tenth of the default allocator's size; nothing is allocated per part.
  "-sMALLOC=emmalloc",
]

const link = [
  ...linkAny,
  // Half the default: two instances of 16 MiB make V8 collect garbage during the first handshake.
  "-sINITIAL_MEMORY=8388608",
  // One page less than 4 GiB: close to 4 GiB the allocator reads out of bounds instead of failing.
  "-sMAXIMUM_MEMORY=4294901760",
]

const linkCurve = [
  ...linkAny,
  ...simd,
  ...inlined,
  // It needs little: a cipher for each connection, and scratch memory for a batch.
  "-sTOTAL_STACK=65536",
  "-sINITIAL_MEMORY=524288",
]

const variants = [
  { file: "zeromq-lz4.wasm", defines: [] },
  { file: "zeromq-lz4-small-blocks.wasm", defines: ["-DZL_BLOCK_MAX=65536"] },
]

/**
 * Compiles wasm/*.c and liblz4 with Emscripten to build/zeromq-lz4.wasm, and with blocks of 64 KiB to
 * build/zeromq-lz4-small-blocks.wasm. Compiles wasm/curve/*.c and libsodium to build/curve.wasm.
 */
export async function buildWasm() {
  if (!onPath("emcc")) fail("emcc is not on PATH: `npm run setup` installs Emscripten.")
  mkdirSync(paths.build, { recursive: true })
  await buildStep("wasm", compileAll)
}

async function compileAll() {
  await Promise.all([compileCodec(), compileCurve()])
}

/** @param {string[]} args */
async function emcc(args) {
  const { status } = await start("emcc", args, { stdio: "inherit" })
  if (status !== 0) fail(`failed: ${commandLine("emcc", args)}`)
}

/**
 * Compiles a file to an object in build/, which it returns.
 * @param {string[]} flags
 * @param {string} source
 */
async function object(flags, source) {
  const output = join(paths.build, basename(source).replace(".c", ".o"))
  await emcc([...flags, "-c", source, "-o", output])
  return output
}

/** @param {string[]} args @param {string} file */
async function module(args, file) {
  const output = join(paths.build, file)
  await emcc([...args, "-o", output])
  console.log(`${paths.shown(output)}: ${statSync(output).size} bytes`)
}

async function compileCodec() {
  const objects = await Promise.all([
    ...TRAINING.map((file) => object(compileTraining, join(paths.wasm, file))),
    object(compileLiblz4, join(paths.liblz4, "lz4.c")),
    object(compileLz4hc, join(paths.liblz4, "lz4hc.c")),
  ])
  const ours = filesIn(paths.wasm, ".c").filter((path) => !TRAINING.includes(basename(path)))
  await Promise.all(
    variants.map(({ file, defines }) =>
      module([...compile, ...defines, ...link, ...ours, ...objects], file),
    ),
  )
}

async function compileCurve() {
  // Not our code: no warnings.
  const flags = [...optimize, ...simd, ...inlined, ...libsodiumFlags(true), "-w"]
  const sodium = await Promise.all(libsodiumSources.map((source) => object(flags, source)))
  const ours = [...curveSources(), ...curveSharedSources]
  await module([...compile, ...libsodiumIncludes, ...linkCurve, ...ours, ...sodium], "curve.wasm")
}
