/** Lists the C files. */
import { basename, join } from "node:path"
import { filesIn } from "./files.mjs"
import * as paths from "./paths.mjs"

/** Lists the sources of the module, without liblz4. */
export const librarySources = () => filesIn(paths.wasm, ".c")
export const liblz4Sources = ["lz4.c", "lz4hc.c"].map((file) => join(paths.liblz4, file))
/** For builds with sanitizers, which take seven times as long if each function has copies of all that it calls. */
export const sanitizedLiblz4Flags = ["-DLZ4_FORCE_INLINE=static", "-w"]

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

/** Lists the programs in wasm/test or wasm/fuzz. @param {"test" | "fuzz"} kind */
export const programs = (kind) =>
  filesIn(join(paths.wasm, kind), ".c").map((source) => ({ name: basename(source, ".c"), source }))

/** Lists all files for clang-format. */
export const formattedSources = () =>
  [
    paths.wasm,
    join(paths.wasm, "curve"),
    join(paths.wasm, "test"),
    join(paths.wasm, "fuzz"),
    join(paths.root, "bench/codec"),
  ].flatMap((directory) => [...filesIn(directory, ".c"), ...filesIn(directory, ".h")])
