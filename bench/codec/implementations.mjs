/** The codecs that bench/codec.mjs compares, behind one interface. */
import { createRequire } from "node:module"
import * as zlib from "node:zlib"
import { Codec } from "zeromq-lz4/codec"

import { packageVersion } from "../lib/results.mjs"

const require = createRequire(import.meta.url)

/**
 * @typedef {object} Implementation
 * @property {(plain: Uint8Array) => Uint8Array} encode
 * @property {(wire: Uint8Array) => Uint8Array} decode
 */

/** @typedef {(dictionary?: Uint8Array) => Implementation | undefined} Create undefined: it has no dictionaries */

/** Large enough for all payloads. */
const TARGET_BYTES = 2 ** 21

/** @param {Uint8Array} [dictionary] */
function zeromqLz4Codecs(dictionary) {
  const sender = Codec.createSync(dictionary && { dictionary })
  const receiver = Codec.createSync()
  // The dictionary is part of the first message.
  for (const message of sender.encode([new Uint8Array(0)])) receiver.decode(message)
  return { sender, receiver }
}

/** @type {Create} */
function zeromqLz4(dictionary) {
  const { sender, receiver } = zeromqLz4Codecs(dictionary)
  return {
    encode: (plain) => sender.encodePart(plain),
    decode: (wire) => /** @type {Uint8Array} */ (receiver.decodePart(wire)),
  }
}

/**
 * Encodes and decodes into an array of the caller, which is reused.
 * @type {Create}
 */
function zeromqLz4Into(dictionary) {
  const { sender, receiver } = zeromqLz4Codecs(dictionary)
  const target = new Uint8Array(TARGET_BYTES)
  return {
    encode: (plain) => target.subarray(0, sender.encodeInto(plain, target)),
    decode: (wire) => target.subarray(0, receiver.decodeInto(wire, target)),
  }
}

/** @type {Create} */
function lz4Napi(dictionary) {
  // Its types require a Buffer, but it accepts any Uint8Array.
  const { compressSync, uncompressSync } = /** @type {any} */ (require("lz4-napi"))
  return {
    encode: (plain) => compressSync(plain, dictionary),
    decode: (wire) => uncompressSync(wire, dictionary),
  }
}

/** @type {Create} */
function lz4WasmNodejs(dictionary) {
  const { compress, decompress } = require("lz4-wasm-nodejs")
  return dictionary ? undefined : { encode: compress, decode: decompress }
}

/** Uses the documented functions of lz4js, which write LZ4 frames. @type {Create} */
function lz4js(dictionary) {
  // @ts-expect-error It has no types.
  const { compress, decompress } = require("lz4js")
  return dictionary
    ? undefined
    : { encode: (plain) => compress(plain), decode: (wire) => decompress(wire) }
}

/** @type {Create} */
function zeromqZstd(dictionary) {
  if (dictionary) return
  const codec = Codec.createSync({ format: "zstd", level: 1 })
  return {
    encode: (plain) => codec.encodePart(plain),
    decode: (wire) => /** @type {Uint8Array} */ (codec.decodePart(wire)),
  }
}

/** Node has Zstandard from 22.15 on. @type {Create} */
function nodeZstd(dictionary) {
  const { zstdCompressSync, zstdDecompressSync, constants } = /** @type {any} */ (zlib)
  if (dictionary || !zstdCompressSync) return
  const params = { [constants.ZSTD_c_compressionLevel]: 1 }
  return { encode: (plain) => zstdCompressSync(plain, { params }), decode: zstdDecompressSync }
}

export const OURS = "zeromq-lz4"
/** The contestant that uses encodeInto and decodeInto. */
export const OURS_INTO = "zeromq-lz4 …Into"
export const OURS_ZSTD = "zeromq-lz4, zstd 1"
export const NODE_ZSTD = "node:zlib, zstd 1"
export const NATIVE = "native liblz4"

/** @type {Record<string, Create>} */
export const implementations = {
  [OURS]: zeromqLz4,
  [OURS_INTO]: zeromqLz4Into,
  "lz4-napi": lz4Napi,
  "lz4-wasm-nodejs": lz4WasmNodejs,
  lz4js,
  [OURS_ZSTD]: zeromqZstd,
  [NODE_ZSTD]: nodeZstd,
}

export const PEERS = ["lz4-napi", "lz4-wasm-nodejs", "lz4js"]

/** Returns the versions of all implementations, for the stored results. */
export function versions() {
  return {
    node: process.versions.node,
    liblz4: Codec.lz4Version,
    ...Object.fromEntries(PEERS.map((name) => [name, packageVersion(name)])),
  }
}
