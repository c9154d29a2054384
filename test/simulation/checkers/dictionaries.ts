/** A dictionary that was trained consists of what its own connection was sent (RFC.md section 8.3). */
import { Codec } from "../../../src/codec/codec.js"
import { concat, formOf, SENTINELS } from "../../support/wire.js"
import { messagesOf, parseStream } from "../../support/zmtp.js"
import type { Checker } from "../checker.js"
import type { Link } from "../network.js"
import { DICTIONARY } from "../scenario.js"
import { endsOf, isPlain, type Run } from "../state.js"

/** Training counts substrings of this length, and takes none that is shorter. */
const UNIT = 6

export class Dictionaries implements Checker {
  readonly #run: Run
  readonly #trains: boolean
  /** The bytes of each direction of a link. */
  readonly #streams = new Map<object, { link: Link; pieces: Uint8Array[] }>()

  constructor(run: Run) {
    this.#run = run
    const { curve, sockets } = run.scenario
    // What is encrypted may have the sentinel of a dictionary by chance.
    this.#trains = !curve && JSON.stringify(sockets).includes('"autoDictionary"')
  }

  took(link: Link, direction: object, bytes: Uint8Array): void {
    if (!this.#trains) return
    const stream = this.#streams.get(direction)
    if (stream) stream.pieces.push(bytes)
    else this.#streams.set(direction, { link, pieces: [bytes] })
  }

  end(): void {
    for (const { link, pieces } of this.#streams.values())
      if (this.#isCompressed(link)) this.#check(link, concat(...pieces))
  }

  /** What a plain peer gets may look like a dictionary. */
  #isCompressed(link: Link): boolean {
    const ends = endsOf(this.#run, link)
    return ends !== undefined && !isPlain(this.#run, ends)
  }

  #check(link: Link, stream: Uint8Array): void {
    if (!Buffer.from(stream).includes(Buffer.from(SENTINELS.LZ4D))) return
    using codec = Codec.createSync()
    const sent: Uint8Array[] = []
    for (const wire of messagesOf(parseStream(stream).frames)) {
      const [part] = wire as [Uint8Array]
      if (wire.length === 1 && formOf(part) === "LZ4D") this.#checkOne(link, part.subarray(4), sent)
      try {
        sent.push(...codec.decode(wire).flat())
      } catch {
        return // of a hostile peer: other rules find a part of ours that cannot be decoded
      }
    }
  }

  #checkOne(link: Link, dictionary: Uint8Array, sent: readonly Uint8Array[]): void {
    if (Buffer.compare(dictionary, DICTIONARY) === 0) return
    const foreign = foreignBytes(dictionary, sent)
    // The segment that filled the dictionary was cut.
    if (foreign < UNIT) return
    this.#run.world.fail(
      "a trained dictionary consists of what its connection was sent",
      `${foreign} of ${dictionary.length} bytes on link ${link.number} were not among ${sent.length} parts before them`,
    )
  }
}

/** Returns the number of bytes of a dictionary that are in no substring of a part. */
function foreignBytes(dictionary: Uint8Array, sent: readonly Uint8Array[]): number {
  const units = new Set<string>()
  for (const part of sent) for (const unit of unitsOf(part)) units.add(unit)
  let foreign = 0
  let known = 0 // the end of the bytes that are known
  let at = 0
  for (const unit of unitsOf(dictionary)) {
    if (units.has(unit)) {
      foreign += Math.max(0, at - known)
      known = at + UNIT
    }
    at++
  }
  return foreign + dictionary.length - known
}

function* unitsOf(bytes: Uint8Array): Generator<string> {
  const text = Buffer.from(bytes).toString("latin1")
  for (let at = 0; at + UNIT <= text.length; at++) yield text.slice(at, at + UNIT)
}
