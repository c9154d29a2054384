/** CURVE in a run: keys, and somebody on the way who tampers with what is sent. */
import { createPrivateKey, createPublicKey } from "node:crypto"
import { concat, plainPart } from "../support/wire.js"
import { frame, GREETING_BYTES, LONG } from "../support/zmtp.js"
import type { Tamperer } from "./network.js"
import type { Random } from "./random.js"
import type { CurveSpec, SocketSpec, Tampering } from "./scenario.js"

const KEY_BYTES = 32
/** The beginning of an X25519 secret key in PKCS #8. */
const PKCS8 = Buffer.from("302e020100300506032b656e04220420", "hex")

interface Keys {
  publicKey: Buffer
  secretKey: Buffer
}

const made = new Map<number, Keys>()

/** Returns a pair of keys, which is the same for a number each time. */
function keysOf(number: number): Keys {
  const known = made.get(number)
  if (known) return known
  const secretKey = Buffer.alloc(KEY_BYTES, number)
  const key = createPrivateKey({
    key: Buffer.concat([PKCS8, secretKey]),
    format: "der",
    type: "pkcs8",
  })
  const { x } = createPublicKey(key).export({ format: "jwk" })
  const keys = { publicKey: Buffer.from(x as string, "base64url"), secretKey }
  made.set(number, keys)
  return keys
}

/** The pair of all servers, and one that nobody has. */
const SERVER = 201
const NOBODY = 202

/** The servers' public key. */
export const serverKey = (): Buffer => keysOf(SERVER).publicKey

/** Returns the public key of a socket that is a client. */
export const clientKeyOf = ({ number }: SocketSpec): Buffer => keysOf(number + 1).publicKey

export function isServer({ servers }: CurveSpec, { endpoints }: SocketSpec): boolean {
  return endpoints.some(({ kind }) => kind === "bind") === (servers === "binding")
}

/** Returns the options with which a socket has CURVE. */
export function curveOptions(curve: CurveSpec, socket: SocketSpec): Record<string, unknown> {
  if (isServer(curve, socket))
    return { curveServer: true, curveSecretKey: keysOf(SERVER).secretKey }
  const { publicKey, secretKey } = keysOf(socket.number + 1)
  const server = curve.wrong.includes(socket.number) ? NOBODY : SERVER
  return {
    curvePublicKey: publicKey,
    curveSecretKey: secretKey,
    curveServerKey: keysOf(server).publicKey,
  }
}

// -- Tampering ---------------------------------------------------------------------

/** Minimum sizes of a frame to tamper with: any, or one that is encrypted in pieces. */
const MIN_BYTES = [0, 500]
/** Number of commands that each side sends before the first MESSAGE. */
const HANDSHAKE_COMMANDS = 2

/** Tampers with one MESSAGE, or before it. */
export class OnTheWay implements Tamperer {
  readonly #how: Tampering
  readonly #random: Random
  /** Number of frames that go on as they are. */
  #frames: number
  /** Minimum size of the frame that it tampers with. */
  readonly #minBytes: number
  /** Bytes that have not gone on yet. */
  #held: Uint8Array = new Uint8Array(0)
  #isGreeted = false
  #passed = 0
  /** The position after what was tampered with. */
  endsAt: number | undefined

  /** @param messages that go on as they are. */
  constructor(how: Tampering, messages: number, random: Random) {
    this.#how = how
    this.#random = random
    this.#minBytes = random.pick(MIN_BYTES)
    this.#frames = HANDSHAKE_COMMANDS + messages
  }

  pass(bytes: Uint8Array): Uint8Array {
    if (this.endsAt !== undefined) return bytes
    const given = concat(this.#held, bytes)
    const going = this.#go(given)
    this.#passed += going.length
    return going
  }

  #go(given: Uint8Array): Uint8Array {
    const start = this.#isGreeted ? 0 : GREETING_BYTES
    if (given.length < start) return this.#hold(given, 0)
    this.#isGreeted = true
    const ends = [start, ...frameEnds(given, start)]
    const wanted = this.#how === "swap" ? 2 : 1
    let untouched = Math.min(this.#frames, ends.length - 1)
    while ((ends[untouched + 1] as number) - (ends[untouched] as number) < this.#minBytes)
      untouched++
    const from = ends[untouched] as number
    this.#frames = Math.max(0, this.#frames - untouched)
    if (this.#frames > 0 || ends.length <= untouched + wanted) return this.#hold(given, from)
    const to = ends[untouched + wanted] as number
    const middle = ends[untouched + 1] as number
    const changed = this.#tamper(given.subarray(from, middle), given.subarray(middle, to))
    this.endsAt = this.#passed + from + changed.length
    return concat(given.subarray(0, from), changed, given.subarray(to))
  }

  #hold(given: Uint8Array, from: number): Uint8Array {
    this.#held = given.slice(from)
    return given.subarray(0, from)
  }

  /** Returns what goes on in place of a frame, and of the next one to swap it with. */
  #tamper(one: Uint8Array, next: Uint8Array): Uint8Array {
    switch (this.#how) {
      case "flip": {
        const changed = one.slice()
        const bodyBytes = one.length - ((one[0] as number) & LONG ? LONG_HEAD : SHORT_HEAD)
        const at = one.length - 1 - this.#random.below(bodyBytes)
        changed[at] = (changed[at] as number) ^ (1 << this.#random.below(8))
        return changed
      }
      case "replay":
        return concat(one, one)
      case "swap":
        return concat(next, one)
      case "clear":
        return concat(frame(plainPart(Buffer.from("in the clear"))), one)
    }
  }
}

const SHORT_HEAD = 2
const LONG_HEAD = 9

/** Returns the positions after the whole frames of a stream. */
function frameEnds(bytes: Uint8Array, start: number): number[] {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const ends: number[] = []
  for (let at = start; ; ) {
    const isLong = ((bytes[at] ?? 0) & LONG) !== 0
    at += isLong ? LONG_HEAD : SHORT_HEAD
    if (at > bytes.length) return ends
    at += isLong ? Number(view.getBigUint64(at - 8)) : view.getUint8(at - 1)
    if (at > bytes.length) return ends
    ends.push(at)
  }
}
