/** The fuzz target "commands": valid frames with arbitrary commands and properties. */

const MORE = 1
const LONG = 2
const COMMAND = 4

const COMMANDS = [
  ...["READY", "READY", "INITIATE", "ERROR", "HELLO", "WELCOME", "MESSAGE"],
  ...["SUBSCRIBE", "CANCEL", "PING", "PONG", "JOIN", "LEAVE", "ready", "\x1b]0;", "é", ""],
]
const PROPERTIES = ["Socket-Type", "Identity", "SOCKET-TYPE", "X-Anything", "", "\x1b[2J", "\x9b"]
const TEXTS = ["PUSH", "ROUTER", "", "\x1b]0;title\x07", "\u202eexe.gpj", "\u009b2J", "żółw 🐢"]
const MECHANISMS = ["NULL", "NULL", "NULL", "PLAIN", "CURVE", "\x1b]0;", "\x9b\x9b", "M".repeat(20)]

/** Makes one direction of connections. @param {import("../../bench/random.mjs").Random} random */
export function randomCommands(random) {
  return { corpus: [], make: stream }

  function stream() {
    const pieces = [greeting()]
    for (let frames = random.below(8); frames > 0; frames--)
      pieces.push(frame(random.below(4) > 0 ? COMMAND : random.below(2) * MORE, body()))
    const whole = Buffer.concat(pieces)
    return new Uint8Array(
      random.below(3) > 0 ? whole : whole.subarray(0, random.below(whole.length)),
    )
  }

  function greeting() {
    const bytes = Buffer.alloc(64)
    bytes.set([0xff, 0, 0, 0, 0, 0, 0, 0, 1, 0x7f, random.pick([0, 1, 3, 3, 3, 3, 4])])
    bytes[11] = random.below(2)
    bytes.write(random.pick(MECHANISMS), 12, 20, "latin1")
    bytes[32] = random.below(3)
    return bytes
  }

  /** @param {number} flags @param {Uint8Array} body */
  function frame(flags, body) {
    if (body.length <= 255 && random.below(8) > 0)
      return Buffer.concat([Uint8Array.of(flags, body.length), body])
    const head = Buffer.alloc(9)
    head[0] = flags | LONG
    head.writeBigUInt64BE(BigInt(body.length), 1)
    return Buffer.concat([head, body])
  }

  function body() {
    if (random.below(16) === 0) return random.bytes(random.below(40))
    const name = Buffer.from(random.pick(COMMANDS), "latin1")
    const nameBytes = random.below(16) === 0 ? random.below(256) : name.length
    return Buffer.concat([Uint8Array.of(nameBytes), name, random.pick([metadata, text, value])()])
  }

  function metadata() {
    const count = random.below(32) === 0 ? random.below(2000) : random.below(6)
    return Buffer.concat(Array.from({ length: count }, property))
  }

  function property() {
    const name = Buffer.from(random.pick(PROPERTIES), "latin1")
    const content = value()
    const length = Buffer.alloc(4)
    length.writeUInt32BE(random.below(64) === 0 ? random.next() : content.length)
    return Buffer.concat([Uint8Array.of(name.length), name, length, content])
  }

  /** Returns the body of an ERROR or HELLO: the length in a byte and the text, once or twice. */
  function text() {
    const one = Buffer.from(random.pick(TEXTS))
    const once = Buffer.concat([Uint8Array.of(one.length + random.pick([0, 0, 0, 1, 200])), one])
    return random.below(2) ? once : Buffer.concat([once, once])
  }

  function value() {
    if (random.below(200) === 0) return random.bytes(random.below(300_000))
    return random.pick([
      () => Buffer.from(random.pick(TEXTS)),
      () => Buffer.from(random.pick(TEXTS), "latin1"),
      () => Buffer.from(random.pick(TEXTS).repeat(random.below(100))),
      () => random.bytes(random.below(300)),
    ])()
  }
}
