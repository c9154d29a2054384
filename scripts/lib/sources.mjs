/** Lists the C files. */
import { basename, join } from "node:path"
import { filesIn } from "./files.mjs"
import * as paths from "./paths.mjs"

/** Lists the sources that the modules of all formats have, and those of lz4+tcp:// without liblz4. */
export const commonSources = () => filesIn(paths.wasm, ".c")
export const lz4Sources = () => filesIn(join(paths.wasm, "lz4"), ".c")
/** Compiler flags for the sources of the module of lz4+tcp://. */
export const lz4Includes = [`-I${join(paths.wasm, "lz4")}`, `-I${paths.liblz4}`]
export const liblz4Sources = ["lz4.c", "lz4hc.c"].map((file) => join(paths.liblz4, file))
/** For builds with sanitizers, which take seven times as long if each function has copies of all that it calls. */
export const sanitizedLiblz4Flags = ["-DLZ4_FORCE_INLINE=static", "-w"]

export const zstdSources = () => filesIn(join(paths.wasm, "zstd"), ".c")
/** Compiler flags for the sources of the module of zstd+tcp://, which has libzstd's own headers too. */
export const zstdIncludes = [
  `-I${join(paths.wasm, "zstd")}`,
  ...["", "common", "compress"].map((directory) => `-I${join(paths.libzstd, directory)}`),
]
/** libzstd for one thread, and for the levels up to 9: what only higher ones use is left out. */
export const libzstdSources = [
  ...["entropy_common", "error_private", "fse_decompress", "xxhash", "zstd_common"].map(
    (name) => `common/${name}.c`,
  ),
  ...["fse_compress", "hist", "huf_compress"].map((name) => `compress/${name}.c`),
  ...["", "_literals", "_sequences", "_superblock"].map(
    (name) => `compress/zstd_compress${name}.c`,
  ),
  ...["double_fast", "fast", "lazy", "ldm", "opt", "preSplit"].map(
    (name) => `compress/zstd_${name}.c`,
  ),
  ...["huf_decompress", "zstd_ddict", "zstd_decompress", "zstd_decompress_block"].map(
    (name) => `decompress/${name}.c`,
  ),
].map((file) => join(paths.libzstd, file))
export const libzstdFlags = [
  "-DZSTD_LEGACY_SUPPORT=0",
  "-DZSTD_DISABLE_ASM=1",
  "-DZSTD_TRACE=0",
  ...["BTLAZY2", "BTOPT", "BTULTRA"].map((name) => `-DZSTD_EXCLUDE_${name}_BLOCK_COMPRESSOR`),
  "-w",
]
const sanitizedLibzstdFlags = [
  ...libzstdFlags,
  "-DZSTD_NO_INLINE=1",
  // It computes addresses of matches before it checks them, and its own fuzzers allow that.
  "-fno-sanitize=pointer-overflow",
]

/** Lists the sources of the CURVE module that are not in the other one, without libsodium. */
export const curveSources = () => filesIn(join(paths.wasm, "curve"), ".c")
/** The sources that the CURVE module shares with the other one. */
export const curveSharedSources = ["memory.c", "zmtp.c"].map((file) => join(paths.wasm, file))

const libsodiumFiles = [
  "crypto_core/ed25519/ref10/ed25519_ref10.c",
  "crypto_core/hsalsa20/ref2/core_hsalsa20_ref2.c",
  "crypto_core/salsa/ref/core_salsa_ref.c",
  "crypto_onetimeauth/poly1305/donna/poly1305_donna.c",
  "crypto_onetimeauth/poly1305/onetimeauth_poly1305.c",
  "crypto_scalarmult/curve25519/ref10/x25519_ref10.c",
  "crypto_scalarmult/curve25519/scalarmult_curve25519.c",
  "crypto_stream/salsa20/ref/salsa20_ref.c",
  "crypto_stream/salsa20/stream_salsa20.c",
  "crypto_stream/salsa20/xmm6int/salsa20_xmm6int-sse2.c",
  "crypto_verify/sodium/verify.c",
]
export const libsodiumSources = libsodiumFiles.map((file) => join(paths.libsodium, file))
/** libsodium's own boxes, for the C tests to compare with. */
export const libsodiumBoxSources = [
  join(paths.libsodium, "crypto_secretbox/crypto_secretbox_easy.c"),
]
/** Compiler flags for libsodium's sources, and for those that include its headers. */
export const libsodiumIncludes = [
  `-I${paths.libsodium}/include`,
  `-I${paths.libsodium}/include/sodium`,
]
/** @param {boolean} hasSse2 whether the compiler has SSE2, or makes SIMD of WebAssembly of it */
export const libsodiumFlags = (hasSse2) => [
  ...libsodiumIncludes,
  // Without them, libsodium warns that this is not its own build.
  "-DCONFIGURED=1",
  "-DNATIVE_LITTLE_ENDIAN=1",
  ...(hasSse2 ? ["-DHAVE_EMMINTRIN_H=1"] : []),
]

/**
 * Returns what the native programs in wasm/test or wasm/fuzz are made of: those in its folder zstd/ of what
 * is in the module of zstd+tcp://, all others of what is in the other modules.
 * @param {"test" | "fuzz"} kind
 */
export function nativePrograms(kind) {
  const programsIn = (/** @type {string} */ folder) =>
    filesIn(join(paths.wasm, kind, folder), ".c").map((source) => ({
      name: [folder, basename(source, ".c")].filter(Boolean).join("-"),
      file: paths.shown(source),
      source,
    }))
  const sodium = [...libsodiumSources, ...(kind === "test" ? libsodiumBoxSources : [])]
  return [
    {
      format: "lz4",
      programs: programsIn(""),
      // Small blocks, so that small inputs can be parts of several.
      small: ["-DZL_BLOCK_MAX=4096"],
      sources: [...commonSources(), ...lz4Sources(), ...curveSources()],
      includes: [...lz4Includes, ...libsodiumIncludes],
      libraries: [
        { sources: liblz4Sources, flags: sanitizedLiblz4Flags },
        { sources: sodium, flags: sanitizedSodiumFlags },
      ],
    },
    {
      format: "zstd",
      programs: programsIn("zstd"),
      // Small parts are large ones then.
      small: ["-DZL_PART_MAX=4096"],
      sources: [...commonSources(), ...zstdSources()],
      includes: zstdIncludes,
      libraries: [{ sources: libzstdSources, flags: sanitizedLibzstdFlags }],
    },
  ]
}

const sanitizedSodiumFlags = [
  ...libsodiumFlags(process.arch === "x64"),
  // Its code for SSE2 stores words at any address, which x86-64 and WebAssembly allow.
  "-fno-sanitize=alignment",
  "-w",
]

/** Lists all files for clang-format. */
export const formattedSources = () =>
  [
    paths.wasm,
    join(paths.wasm, "lz4"),
    join(paths.wasm, "zstd"),
    join(paths.wasm, "curve"),
    ...["test", "fuzz"].flatMap((kind) => [join(paths.wasm, kind), join(paths.wasm, kind, "zstd")]),
    join(paths.root, "bench/codec"),
  ].flatMap((directory) => [...filesIn(directory, ".c"), ...filesIn(directory, ".h")])
