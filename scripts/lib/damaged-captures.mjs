/** The fuzz target "capture": damaged captures. */
import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { root } from "./paths.mjs"

const directory = join(root, "test/fuzz-corpus/capture")

/** Makes captures of the corpus with random changes. @param {import("../../bench/random.mjs").Random} random */
export function damagedCaptures(random) {
  const good = readdirSync(directory).map((file) => readFileSync(join(directory, file)))
  return { corpus: good, make: damaged }

  /** Makes one to six changes to a valid capture, or sometimes returns random bytes. */
  function damaged() {
    if (random.below(50) === 0) return random.bytes(random.below(2000))
    let file = Uint8Array.from(random.pick(good))
    for (let changes = random.between(1, 6); changes > 0; changes--) file = change(file)
    return file
  }

  /** @param {Uint8Array} file */
  function change(file) {
    const at = random.below(file.length + 1)
    const length = random.below(random.pick([4, 100, 1000]))
    const end = Math.min(file.length, at + length)
    const other = random.pick(good)
    const from = random.below(other.length)
    const insert = random.pick([
      () => new Uint8Array(0), // cut out
      () => file.subarray(at, end).map((byte) => byte ^ random.below(256)),
      () => Uint8Array.of(random.pick([0, 1, 2, 4, 0x7f, 0x80, 0xff])),
      () => random.bytes(length),
      () => other.subarray(from, from + length),
      () => Buffer.concat([file.subarray(at, end), file.subarray(at, end)]), // repeated
    ])()
    return Uint8Array.from(Buffer.concat([file.subarray(0, at), insert, file.subarray(end)]))
  }
}
