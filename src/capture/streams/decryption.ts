import { CIPHER_BYTES } from "../../base/limits.js"
import { COMMAND, framesLength, MORE, writeFrames } from "../../codec/frames.js"
import { CipherError, MESSAGE_EXTRA_BYTES } from "../../curve/cipher.js"
import { KEY_BYTES } from "../../curve/curve.js"
import { loadCurveSync } from "../../curve/load.js"
import { isSealedWith, messageCounter, openFrames } from "../../curve/open-frames.js"
import { COUNTER_BYTES, HELLO, INITIATE, nonce, VOUCH_BYTES } from "../../zmtp/curve-commands.js"
import type { Side, Time } from "../events.js"
import type { KeyLog } from "../key-log.js"
import { other } from "../sides.js"
import { type FrameHandlers, FrameReader } from "./frame-reader.js"
import type { Holder, Unfinished } from "./memory.js"
import { appendRange } from "./ranges.js"

/** Messages of a connection, whose beginning is not in the capture, with which keys are tried. */
const TRIED_MESSAGES = 8
/** Bytes of a message that take as long as the rest of a try. */
const TRY_BYTES = 4096
const NUMBER_BYTES = 8
/** ZL_E_COUNTER in curve.h. */
const NOT_LARGER = -3

/** The keys of connections. */
export interface Keys {
  log: KeyLog
  /** Keys that may still be tried, of all connections whose beginning is not in the capture. */
  triesLeft: number
}

/** The parts of CURVE in a connection that its key opens. */
export class Decryption {
  readonly #keys: Keys
  readonly #sides: Record<Side, OpenedSide>
  /** The client's short-term public key, and its side. */
  #client: Uint8Array | undefined
  #clientSide: Side | undefined
  #messagesLeft = TRIED_MESSAGES
  /** Number of keys of the log that do not open this connection. */
  #triedKeys = 0
  /** The key of the connection; undefined as long as the log has none. */
  key: Uint8Array | undefined

  /** @param handlers take what is inside of messages, with the ranges of the frames that had it. */
  constructor(keys: Keys, handlers: FrameHandlers, budgetBytes: number, unfinished: Unfinished) {
    this.#keys = keys
    const side = (from: Side) => new OpenedSide(handlers, from, budgetBytes, unfinished)
    this.#sides = { client: side("client"), server: side("server") }
  }

  /** Takes the data of a HELLO. */
  hello(from: Side, data: Uint8Array): void {
    if (data.length !== HELLO.bytes) return
    this.#client = data.slice(HELLO.at.client, HELLO.at.client + KEY_BYTES)
    this.#clientSide = from
  }

  /** Returns the metadata in the data of an INITIATE or a READY; undefined if they do not open. */
  metadata(name: string, data: Uint8Array): Uint8Array | undefined {
    const key = this.#find()
    if (!key) return undefined
    const [at, prefix, before] =
      name === "INITIATE"
        ? [INITIATE.at.counter, "CurveZMQINITIATE", KEY_BYTES + VOUCH_BYTES]
        : [0, "CurveZMQREADY---", 0]
    const box = data.subarray(at + COUNTER_BYTES)
    const counter = data.subarray(at, at + COUNTER_BYTES)
    if (counter.length < COUNTER_BYTES) return undefined
    return loadCurveSync().open(key, nonce(prefix, counter), box)?.subarray(before)
  }

  /**
   * Opens a MESSAGE command, and reads the frame in it. Returns false if there is no key for it.
   *
   * @throws CipherError if the key does not open it.
   */
  message(
    from: Side,
    body: Uint8Array,
    hasMore: boolean,
    ranges: readonly number[],
    time: Time,
  ): boolean {
    if (body.length < MESSAGE_EXTRA_BYTES) return false
    const key = this.#find() ?? this.#try(from, body)
    if (!key) return false
    const frame = new Uint8Array(framesLength([body]))
    writeFrames(frame, 0, [body])
    if (hasMore) frame[0] = (frame[0] as number) | MORE
    const side = this.#sides[from]
    openFrames(loadCurveSync(), key, from !== this.#clientSide, frame, (inner) => {
      // Not before it is open: the counter of a forged one can be any.
      side.begin(messageCounter(body), ranges, time)
      side.read(inner, ranges, time)
    })
    return true
  }

  /** Ends a side. Returns where its frames end; undefined if that is between messages. */
  end(from: Side): string | undefined {
    return this.#sides[from].end()
  }

  #find(): Uint8Array | undefined {
    if (this.#client) this.key ??= this.#keys.log.keyOf(this.#client)
    return this.key
  }

  /** Tries the keys that were not tried before, if the HELLO is not in the capture. */
  #try(from: Side, body: Uint8Array): Uint8Array | undefined {
    if (this.#client || this.#messagesLeft === 0 || body.length > CIPHER_BYTES) return undefined
    this.#messagesLeft--
    const { log } = this.#keys
    if (log.size === this.#triedKeys) return undefined
    let i = 0
    for (const key of log.keys) {
      if (i++ < this.#triedKeys) continue
      for (const clientSide of [from, other(from)] as const) {
        if (this.#keys.triesLeft <= 0) return undefined
        this.#keys.triesLeft -= 1 + body.length / TRY_BYTES
        if (!isSealedWith(loadCurveSync(), key, from !== clientSide, body)) continue
        this.#clientSide = clientSide
        this.key = key
        return key
      }
      this.#triedKeys++
    }
    return undefined
  }
}

/** The frames in the MESSAGE commands of one side, and the messages that they make. */
class OpenedSide implements Holder {
  readonly #handlers: FrameHandlers
  readonly #from: Side
  readonly #unfinished: Unfinished
  readonly #frames: FrameReader
  /** Where the frames of the current message are. */
  #ranges: number[] = []
  #counter: bigint | undefined
  /** Whether frames are dropped up to the end of a message. */
  #isSkipping = false

  constructor(handlers: FrameHandlers, from: Side, budgetBytes: number, unfinished: Unfinished) {
    this.#handlers = handlers
    this.#from = from
    this.#unfinished = unfinished
    const inner: FrameHandlers = {
      command: (side, body, time, offset) => handlers.command(side, body, time, offset, []),
      commandLost: () => {},
      isAlone: () => false,
      message: (side, wire, _, time) => handlers.message(side, wire, this.#ranges, time, false),
      error: (error) => handlers.error(error),
    }
    this.#frames = new FrameReader(inner, from, budgetBytes)
  }

  /**
   * Begins a frame. Reports those that are missing before it, by its counter.
   *
   * @throws CipherError if the counter is not larger than the last one.
   */
  begin(counter: bigint, [offset = 0]: readonly number[], time: Time): void {
    const expected = (this.#counter ?? counter - 1n) + 1n
    if (counter < expected) throw new CipherError(NOT_LARGER)
    this.#counter = counter
    this.#frames.offset = offset
    if (counter <= expected) return
    const isInside = this.#frames.end() !== undefined
    const next = isInside ? "their message is lost" : "the start of the next message is a guess"
    const lost = counter - expected
    const frames = lost === 1n ? "1 encrypted frame" : `${lost} encrypted frames`
    const message = `${frames} missing from the capture: ${next}`
    this.#handlers.error({ code: "ERR_CAPTURE_GAP", message, time, from: this.#from, offset })
    this.#isSkipping ||= isInside
    this.#frames.reset()
    this.#ranges = []
  }

  /** Reads the frame that was in a MESSAGE command in these ranges of the file. */
  read(frame: Uint8Array, ranges: readonly number[], time: Time): void {
    const flags = frame[0] as number
    const isLast = (flags & (COMMAND | MORE)) === 0
    if (this.#isSkipping && !(flags & COMMAND)) {
      this.#isSkipping = !isLast
      return
    }
    if (!(flags & COMMAND || this.#frames.isLost))
      for (let i = 0; i < ranges.length; i += 2)
        appendRange(this.#ranges, ranges[i] as number, ranges[i + 1] as number)
    this.#frames.read(frame, 0, ranges[0] ?? 0, time)
    if (isLast || this.#frames.isLost) this.#ranges = []
    const bytes = this.#frames.heldBytes + this.#ranges.length * NUMBER_BYTES
    this.#unfinished.set(this, bytes, time)
  }

  forget(time: Time): void {
    const { maxBytes } = this.#unfinished
    const max = `the unfinished messages of all connections take more than ${maxBytes} bytes`
    this.#frames.forget(max, time)
    this.#ranges = []
  }

  end(): string | undefined {
    const place = this.#frames.end()
    this.#frames.drop()
    this.#ranges = []
    this.#unfinished.set(this, 0, undefined)
    return place
  }
}
