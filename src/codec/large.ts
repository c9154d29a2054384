import { outOfMemory } from "./errors.js"
import { INPUT, Instance, NULL, type Pointer } from "./instance.js"

/** An instance that grew beyond this is never kept. */
const KEPT_MAX_BYTES = 64 << 20

let kept: WeakRef<Instance> | undefined

/**
 * Runs `work` in an instance for one part over `partMax`, with `dictionary`
 * opened in it.
 *
 * A wasm memory never shrinks, so a large part gets an instance of its own and
 * the garbage collector takes it back. A moderate one is offered to the next
 * large part until then.
 */
export function withLargeInstance<T>(
  shared: Instance,
  dictionary: Pointer,
  work: (instance: Instance, dictionary: Pointer) => T,
): T {
  const last = kept?.deref()
  kept = undefined // an instance that runs out of memory is not used again
  const instance = last?.module === shared.module ? last : new Instance(shared.module)
  const opened =
    dictionary === NULL ? NULL : openDictionary(instance, dictionaryBytes(shared, dictionary))
  try {
    return work(instance, opened)
  } finally {
    instance.exports.zl_dictionary_close(opened)
    if (instance.memoryBytes <= KEPT_MAX_BYTES) kept = new WeakRef(instance)
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
