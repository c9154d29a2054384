/**
 * Reads the arrays of callers. A property may be overridden, by a subclass say, and a view of
 * growable memory gets longer whenever another thread wants: what was measured must also be what is
 * copied. So the length is read once, and with the getters of the engine.
 */
type Getter = (this: unknown) => unknown

function getter(name: string | symbol): Getter {
  const typedArray = Object.getPrototypeOf(Uint8Array.prototype)
  return Object.getOwnPropertyDescriptor(typedArray, name)?.get as Getter
}

const tagOf = getter(Symbol.toStringTag)
const bufferOf = getter("buffer")
const byteOffsetOf = getter("byteOffset")
const byteLengthOf = getter("byteLength")

/** Returns whether a value is a Uint8Array of any realm, such as a Buffer. */
export function isUint8Array(value: unknown): value is Uint8Array {
  return tagOf.call(value) === "Uint8Array"
}

/** Returns the memory of a typed array, and where the array is in it. */
export function placeOf(array: ArrayBufferView): {
  buffer: ArrayBuffer
  byteOffset: number
  byteLength: number
} {
  return {
    buffer: bufferOf.call(array) as ArrayBuffer,
    byteOffset: byteOffsetOf.call(array) as number,
    byteLength: byteLengthOf.call(array) as number,
  }
}

/** Returns a plain view of the same memory, of a fixed length. A detached array is empty. */
export function fixedView(array: ArrayBufferView): Uint8Array {
  const { buffer, byteOffset, byteLength } = placeOf(array)
  return byteLength === 0 ? new Uint8Array(0) : new Uint8Array(buffer, byteOffset, byteLength)
}

/** V8 keeps arrays of up to this many bytes on its own heap, and moves them out of it for a view. */
const ON_HEAP_MAX_BYTES = 64

/** Returns a fixed view of bytes that are read whole, or a copy if there are few. */
export function fixedBytes(array: Uint8Array): Uint8Array {
  const length = byteLengthOf.call(array) as number
  return length > 0 && length <= ON_HEAP_MAX_BYTES ? new Uint8Array(array) : fixedView(array)
}
