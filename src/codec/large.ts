import { outOfMemory } from "./errors.js"
import { INPUT, Instance } from "./instance.js"
import { NULL, type Pointer } from "./module-memory.js"

/** Parts of up to this many bytes of plaintext are separated from larger ones. */
const MODERATE_MAX_BYTES = 16 << 20

/** The instances that were used last, by their modules. */
const kept = {
  moderate: new WeakMap<WebAssembly.Module, WeakRef<Instance>>(),
  huge: new WeakMap<WebAssembly.Module, WeakRef<Instance>>(),
}

/**
 * Runs `work` in an instance for one part of more than `partMax` bytes of plaintext, with
 * `dictionary` opened in it.
 *
 * The memory of an instance never shrinks, so large parts have instances of their own, which the
 * garbage collector frees. Until then the next large part reuses the instance: with a new one each
 * time, many parts in one turn of the event loop would fill the machine's memory. An instance that
 * grew for a huge part is only used for huge parts, so that smaller ones do not keep it alive.
 */
export function withLargeInstance<T>(
  shared: Instance,
  dictionary: Pointer,
  plainBytes: number,
  work: (instance: Instance, dictionary: Pointer) => T,
): T {
  const { module, format } = shared
  const instances = plainBytes > MODERATE_MAX_BYTES ? kept.huge : kept.moderate
  const instance = instances.get(module)?.deref() ?? new Instance(module, format)
  instances.set(module, new WeakRef(instance))
  let opened = NULL
  try {
    if (dictionary !== NULL) opened = openDictionary(instance, dictionaryBytes(shared, dictionary))
    return work(instance, opened)
  } catch (error) {
    // The memory is full, so the next part needs an empty one.
    if (error instanceof RangeError) instances.delete(module)
    throw error
  } finally {
    instance.exports.zl_dictionary_close(opened)
  }
}

function dictionaryBytes(instance: Instance, dictionary: Pointer): Uint8Array {
  const { zl_dictionary_bytes, zl_dictionary_length } = instance.exports
  return instance.view(zl_dictionary_bytes(dictionary), zl_dictionary_length(dictionary))
}

/** Opens a dictionary of 1 to 8192 bytes. Close it with zl_dictionary_close. */
export function openDictionary(instance: Instance, bytes: Uint8Array): Pointer {
  const { zl_dictionary_open } = instance.exports
  const pointer = zl_dictionary_open(instance.place(INPUT, bytes), bytes.length)
  if (pointer === NULL) throw outOfMemory("a dictionary", bytes.length)
  return pointer
}
