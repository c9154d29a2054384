import type { Socket } from "node:net"
import type { Transcoder } from "../codec/transcoder.js"

export interface PumpHandlers {
  /** Some of the stream went through. */
  moved(): void
  /** The stream broke a rule, or memory ran out; nothing moves any more. */
  failed(error: Error): void
}

/**
 * Moves one direction of a link: reads from a socket, transcodes, writes to
 * another. It reads only while the other side takes what it writes, so that a
 * slow reader stops the writer and little is held in between.
 */
export class Pump {
  readonly #from: Socket
  readonly #to: Socket
  readonly #transcoder: Transcoder
  readonly #handlers: PumpHandlers
  #blocked = false
  #ended = false
  #stopped = false

  constructor(from: Socket, to: Socket, transcoder: Transcoder, handlers: PumpHandlers) {
    this.#from = from
    this.#to = to
    this.#transcoder = transcoder
    this.#handlers = handlers
    from.on("data", (chunk) => this.push(chunk))
    from.on("end", () => this.finish())
    to.on("drain", () => {
      this.#blocked = false
      this.#run()
    })
  }

  /** Takes a chunk, as if it had been read. */
  push(chunk: Uint8Array): void {
    if (this.#stopped) return
    this.#transcoder.push(chunk)
    this.#run()
  }

  /** Nothing more comes: ends the other side when it has all that came before. */
  finish(): void {
    this.#ended = true
    this.#run()
  }

  /** Drops what is read from now on. */
  stop(): void {
    this.#stopped = true
    this.#from.resume()
  }

  #run(): void {
    if (this.#stopped) return
    try {
      while (!this.#blocked) {
        const output = this.#transcoder.pull()
        if (!output) break
        this.#handlers.moved() // before anybody can have seen what it counts
        this.#blocked = !this.#to.write(output)
      }
    } catch (error) {
      this.stop()
      this.#handlers.failed(error as Error)
      return
    }
    if (this.#blocked) {
      this.#from.pause()
    } else if (this.#ended) {
      this.stop()
      this.#to.end()
    } else if (this.#from.isPaused()) {
      this.#from.resume()
    }
  }
}
