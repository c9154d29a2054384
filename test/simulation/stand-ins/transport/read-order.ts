/** A line that tells the checker of turns what happens in it. */
import {
  CREDIT_MS,
  charged,
  type InLine,
  type Readable,
  ReadOrder as RealReadOrder,
} from "../../../../src/transport/read-order.js"

export class ReadOrder extends RealReadOrder {
  readonly #turnMs: number
  /** The connection whose slice begins next. */
  #next: Readable | undefined

  constructor(turnMs: number) {
    super(turnMs)
    this.#turnMs = turnMs
  }

  override join(readable: Readable): void {
    __simulation.turns.joined(readable, this.#turnMs, CREDIT_MS)
    super.join(readable)
  }

  override startNow(readable: Readable): number {
    this.#next = readable
    return super.startNow(readable)
  }

  override take(): InLine | undefined {
    const waiting = super.take()
    this.#next = waiting?.readable
    return waiting
  }

  override hold(waiting: InLine): void {
    __simulation.turns.held(waiting.readable)
    super.hold(waiting)
  }

  override release(): void {
    __simulation.turns.paused(this.#turnMs)
    super.release()
  }

  override begin(startMs: number): void {
    __simulation.turns.begins(this.#next as Readable, startMs)
    super.begin(startMs)
  }

  override end(readable: Readable, startMs: number, tookMs: number): void {
    super.end(readable, startMs, tookMs)
    __simulation.turns.ended(readable, startMs, tookMs, charged(tookMs))
  }
}
