/** Builds the WebAssembly modules. */
import { mkdirSync, statSync, writeFileSync } from "node:fs"
import { basename, join } from "node:path"
import { onPath } from "./files.mjs"
import * as paths from "./paths.mjs"
import { commandLine, fail, start } from "./run.mjs"
import {
  commonSources,
  curveSharedSources,
  curveSources,
  liblz4Sources,
  libsodiumFlags,
  libsodiumIncludes,
  libsodiumSources,
  libzstdFlags,
  libzstdSources,
  lz4Includes,
  lz4Sources,
  zstdIncludes,
  zstdSources,
} from "./sources.mjs"
import { buildStep } from "./stale.mjs"
import { HASH_FILE, hashOfSources } from "./wasm-sources.mjs"

const optimize = [
  "-O3",
  // memory.copy instead of a loop; all engines have had it since 2021.
  "-mbulk-memory",
]

const checked = ["-Wall", "-Wextra", "-Werror", `-I${paths.wasm}`]

// What runs once or takes little of the time: -Os makes it no slower, and the code is a tenth smaller.
const small = ["-Os", "-mbulk-memory"]
const SMALL = ["cover.c", "dictionary.c", "finish.c", "prepared.c", "trainer.c"]

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

// -Os makes the levels from 5 on a tenth slower, and the module an eighth smaller. SIMD gains 1 %.
const SMALL_IN_LIBZSTD = ["lazy", "ldm", "opt", "preSplit"].map((name) => `zstd_${name}.c`)

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
 * Compiles wasm/*.c with wasm/lz4/*.c and liblz4 to build/zeromq-lz4.wasm, with blocks of 64 KiB to
 * build/zeromq-lz4-small-blocks.wasm, and with wasm/zstd/*.c and libzstd to build/zstd.wasm. Compiles
 * wasm/curve/*.c and libsodium to build/curve.wasm.
 */
export async function buildWasm() {
  if (!onPath("emcc")) fail("emcc is not on PATH: `npm run setup` installs Emscripten.")
  mkdirSync(paths.build, { recursive: true })
  await buildStep("wasm", compileAll)
}

async function compileAll() {
  const hash = hashOfSources()
  await Promise.all([compileLz4(), compileZstd(), compileCurve()])
  writeFileSync(join(paths.build, HASH_FILE), `${hash}\n`)
}

/** @param {string[]} args */
async function emcc(args) {
  const { status } = await start("emcc", args, { stdio: "inherit" })
  if (status !== 0) fail(`failed: ${commandLine("emcc", args)}`)
}

/**
 * Compiles files to objects in a folder of build/objects/, and returns their paths.
 * @param {string} folder
 * @param {string[]} sources
 * @param {(name: string) => string[]} flagsOf
 */
async function objects(folder, sources, flagsOf) {
  const directory = join(paths.build, "objects", folder)
  mkdirSync(directory, { recursive: true })
  return Promise.all(
    sources.map(async (source) => {
      const name = basename(source)
      const output = join(directory, name.replace(".c", ".o"))
      await emcc([...flagsOf(name), "-c", source, "-o", output])
      return output
    }),
  )
}

/**
 * Flags for our own sources of a format.
 * @param {string[]} includes
 * @returns {(name: string) => string[]}
 */
const ourFlags = (includes) => (name) => [
  ...(SMALL.includes(name) ? small : optimize),
  ...checked,
  ...includes,
]

/** @param {string[]} args @param {string} file */
async function module(args, file) {
  const output = join(paths.build, file)
  await emcc([...args, "-o", output])
  console.log(`${paths.shown(output)}: ${statSync(output).size} bytes`)
}

async function compileLz4() {
  const library = await objects("lz4", liblz4Sources, (name) =>
    name === "lz4.c" ? compileLiblz4 : compileLz4hc,
  )
  await Promise.all(
    variants.map(async ({ file, defines }) => {
      const flags = ourFlags([...lz4Includes, ...defines])
      const ours = await objects(file, [...commonSources(), ...lz4Sources()], flags)
      await module([...link, ...ours, ...library], file)
    }),
  )
}

async function compileZstd() {
  const all = await Promise.all([
    objects("zstd", [...commonSources(), ...zstdSources()], ourFlags(zstdIncludes)),
    objects("zstd", libzstdSources, (name) => [
      ...(SMALL_IN_LIBZSTD.includes(name) ? small : optimize),
      ...libzstdFlags,
    ]),
  ])
  await module([...link, ...all.flat()], "zstd.wasm")
}

async function compileCurve() {
  // Not our code: no warnings.
  const flags = [...optimize, ...simd, ...inlined, ...libsodiumFlags(true), "-w"]
  const sodium = await objects("curve", libsodiumSources, () => flags)
  const ours = [...curveSources(), ...curveSharedSources]
  await module(
    [...ourFlags(lz4Includes)(""), ...libsodiumIncludes, ...linkCurve, ...ours, ...sodium],
    "curve.wasm",
  )
}
