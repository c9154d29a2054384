/** Builds the WebAssembly modules. */
import { mkdirSync, statSync } from "node:fs"
import { basename, join } from "node:path"
import { filesIn, onPath } from "./files.mjs"
import * as paths from "./paths.mjs"
import { fail, run } from "./run.mjs"
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

function compileAll() {
  const lz4 = join(paths.build, "lz4.o")
  run("emcc", [...compileLiblz4, "-c", join(paths.liblz4, "lz4.c"), "-o", lz4])
  const lz4hc = join(paths.build, "lz4hc.o")
  run("emcc", [...compileLz4hc, "-c", join(paths.liblz4, "lz4hc.c"), "-o", lz4hc])
  const training = TRAINING.map((file) => {
    const object = join(paths.build, file.replace(".c", ".o"))
    run("emcc", [...compileTraining, "-c", join(paths.wasm, file), "-o", object])
    return object
  })
  for (const { file, defines } of variants) {
    const output = join(paths.build, file)
    const ours = filesIn(paths.wasm, ".c").filter((path) => !TRAINING.includes(basename(path)))
    run("emcc", [...compile, ...defines, ...link, ...ours, ...training, lz4, lz4hc, "-o", output])
    console.log(`${paths.shown(output)}: ${statSync(output).size} bytes`)
  }

  const sodium = libsodiumSources.map((source) => {
    const object = join(paths.build, basename(source).replace(".c", ".o"))
    // Not our code: no warnings.
    const flags = [...optimize, ...simd, ...inlined, ...libsodiumFlags(true)]
    run("emcc", [...flags, "-w", "-c", source, "-o", object])
    return object
  })
  const output = join(paths.build, "curve.wasm")
  const ours = [...curveSources(), ...curveSharedSources]
  run("emcc", [...compile, ...libsodiumIncludes, ...linkCurve, ...ours, ...sodium, "-o", output])
  console.log(`${paths.shown(output)}: ${statSync(output).size} bytes`)
}
