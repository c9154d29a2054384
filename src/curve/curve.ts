import { wrongValue } from "../codec/errors.js"
import { INPUT, OUTPUT } from "../codec/instance.js"
import type { Pointer } from "../codec/module-memory.js"
import { CurveInstance } from "./instance.js"

export const KEY_BYTES = 32
export const NONCE_BYTES = 24
export const MAC_BYTES = 16

/** Two keys that belong together, each of KEY_BYTES. */
export interface KeyPair {
  publicKey: Uint8Array
  secretKey: Uint8Array
}

/** Returns memory for a secret, not on V8's heap: the garbage collector would leave copies. */
export function secretBytes(length: number): Uint8Array<ArrayBuffer> {
  return new Uint8Array(new ArrayBuffer(length))
}

/** Overwrites secrets that are no longer needed. */
export function wipe(...secrets: readonly (Uint8Array | undefined)[]): void {
  for (const secret of secrets) secret?.fill(0)
}

/** The boxes and keys of libsodium, on one instance of its module. */
export class Curve {
  readonly instance: CurveInstance

  constructor(module: WebAssembly.Module) {
    this.instance = new CurveInstance(module)
  }

  /** Returns the public key of a secret one. */
  publicKey(secretKey: Uint8Array): Uint8Array {
    return this.#call([checked(secretKey, KEY_BYTES)], KEY_BYTES, ([secret], target) => {
      this.instance.exports.zl_public_key(secret as Pointer, target)
      return KEY_BYTES
    }) as Uint8Array
  }

  /** Returns the key that two pairs share; undefined if the public key, of low order, reveals it. */
  sharedKey(publicKey: Uint8Array, secretKey: Uint8Array): Uint8Array | undefined {
    const keys = [checked(publicKey, KEY_BYTES), checked(secretKey, KEY_BYTES)]
    return this.#call(keys, KEY_BYTES, ([pub, secret], target) => {
      const { exports } = this.instance
      return exports.zl_shared_key(pub as Pointer, secret as Pointer, target) || KEY_BYTES
    })
  }

  /** Returns the box of `plain`: a MAC and as many bytes as were sealed. */
  box(key: Uint8Array, nonce: Uint8Array, plain: Uint8Array): Uint8Array {
    const given = [checked(key, KEY_BYTES), checked(nonce, NONCE_BYTES), plain]
    const bytes = MAC_BYTES + plain.length
    return this.#call(given, bytes, ([k, n, at], target) => {
      const { exports } = this.instance
      exports.zl_box(k as Pointer, n as Pointer, at as Pointer, plain.length, target)
      return bytes
    }) as Uint8Array
  }

  /** Returns what a box contains; undefined if it is forged, or was made with another key or nonce. */
  open(key: Uint8Array, nonce: Uint8Array, box: Uint8Array): Uint8Array | undefined {
    const given = [checked(key, KEY_BYTES), checked(nonce, NONCE_BYTES), box]
    return this.#call(given, box.length, ([k, n, at], target) => {
      const { exports } = this.instance
      return exports.zl_box_open(k as Pointer, n as Pointer, at as Pointer, box.length, target)
    })
  }

  /** Returns whether two secrets are the same, in a time that only depends on their length. */
  same(one: Uint8Array, other: Uint8Array): boolean {
    if (one.length !== other.length) return false
    let same = 0
    this.#call([one, other], 0, ([a, b]) => {
      same = this.instance.exports.zl_same(a as Pointer, b as Pointer, one.length)
      return 0
    })
    return same !== 0
  }

  /**
   * Calls a function with arguments in INPUT and a target in OUTPUT, and overwrites both. The function
   * returns the length of the result. Returns undefined if that is negative.
   */
  #call(
    given: readonly Uint8Array[],
    targetBytes: number,
    run: (given: Pointer[], target: Pointer) => number,
  ): Uint8Array | undefined {
    const { instance } = this
    let length = 0
    for (const bytes of given) length += bytes.length
    const input = instance.scratch(INPUT, length)
    const output = instance.scratch(OUTPUT, targetBytes)
    const pointers: Pointer[] = []
    let at: number = input
    for (const bytes of given) {
      instance.bytes.set(bytes, at)
      pointers.push(at as Pointer)
      at += bytes.length
    }
    const written = run(pointers, output)
    let result: Uint8Array | undefined
    if (written >= 0) {
      result = secretBytes(written)
      result.set(instance.view(output, written))
    }
    instance.exports.zl_wipe(input, length)
    instance.exports.zl_wipe(output, targetBytes)
    return result
  }
}

function checked(bytes: Uint8Array, length: number): Uint8Array {
  if (bytes.length !== length)
    throw wrongValue(`${bytes.length} bytes of a key or nonce; ${length} are needed`)
  return bytes
}

let ours: Curve | undefined

/** Returns libsodium for this thread. The first call makes an instance of the module. */
export function curveOf(module: WebAssembly.Module): Curve {
  ours ??= new Curve(module)
  return ours
}
