import { outOfMemory } from "./errors.js"
import { INPUT, Instance, NULL, type Pointer } from "./instance.js"

/** Parts of up to this many bytes of plaintext are kept apart from larger ones. */
const MODERATE_MAX_BYTES = 16 << 20

/** The instances that were used last. */
const kept: Record<"moderate" | "huge", WeakRef<Instance> | undefined> = {
  moderate: undefined,
  huge: undefined,
}

/**
 * Runs `work` in an instance for one part of over `partMax` bytes of plaintext,
 * with `dictionary` opened in it.
 *
 * A wasm memory never shrinks, so large parts have instances of their own, which
 * the garbage collector takes back. Until then the next part uses them: were each
 * thrown away, many parts in one turn of the event loop would fill the machine's
 * memory. One that grew for a huge part is used for such parts only, so that
 * lesser ones do not keep it alive.
 */
export function withLargeInstance<T>(
  shared: Instance,
  dictionary: Pointer,
  plainBytes: number,
  work: (instance: Instance, dictionary: Pointer) => T,
): T {
  const size = plainBytes > MODERATE_MAX_BYTES ? "huge" : "moderate"
  const last = kept[size]?.deref()
  const instance = last?.module === shared.module ? last : new Instance(shared.module)
  kept[size] = new WeakRef(instance)
  let opened = NULL
  try {
    if (dictionary !== NULL) opened = openDictionary(instance, dictionaryBytes(shared, dictionary))
    return work(instance, opened)
  } catch (error) {
    // Its memory is full: the next part is better off with an empty one.
    if (error instanceof RangeError) kept[size] = undefined
    throw error
  } finally {
    instance.exports.zl_dictionary_close(opened)
  }
}

function dictionaryBytes(instance: Instance, dictionary: Pointer): Uint8Array {
  const { zl_dictionary_bytes, zl_dictionary_length } = instance.exports
  return instance.view(zl_dictionary_bytes(dictionary), zl_dictionary_length(dictionary))
}

/** Opens a dictionary of 1 to 8192 bytes; it is closed with zl_dictionary_close. */
export function openDictionary(instance: Instance, bytes: Uint8Array): Pointer {
  const { zl_dictionary_open } = instance.exports
  const pointer = zl_dictionary_open(instance.place(INPUT, bytes), bytes.length)
  if (pointer === NULL) throw outOfMemory("a dictionary", bytes.length)
  return pointer
}
